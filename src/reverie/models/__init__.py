"""Who thinks for it: embedders, and later language models."""
