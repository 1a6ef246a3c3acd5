"""An outside request into a call on a mind, and back."""
