"""What is remembered: values and rules, no input or output."""
