"""Search and replace in strings: what a match is, what becomes of it, and what is left alone."""
