"""Speeds of the parts, each printed with the machine it was measured on."""
