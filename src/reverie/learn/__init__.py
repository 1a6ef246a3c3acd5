"""How it gets in: a message becomes guarded knowledge."""
