"""How it is found: a cue in, ranked hits out."""
