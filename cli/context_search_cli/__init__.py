"""The command line ``context-search``: a client of the public HTTP API, and nothing else."""

__version__ = "0.2.0"
