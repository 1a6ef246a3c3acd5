"""When it is put in order: for now, what waits for a person's yes."""
