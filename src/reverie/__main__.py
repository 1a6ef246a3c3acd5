"""`python -m reverie` is `reverie`."""

import sys

from reverie.doors.cli import main

if __name__ == "__main__":
    sys.exit(main())
