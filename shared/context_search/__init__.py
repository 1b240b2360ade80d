"""context-search: find, chunk, embed and search the big strings of JSON documents."""

__version__ = "0.2.0"
