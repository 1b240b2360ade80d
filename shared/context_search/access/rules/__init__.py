"""Rules and values of this feature: no input, no output."""
