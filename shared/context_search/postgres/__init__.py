"""PostgreSQL 15 or newer, through one guarded pg8000 connection per transaction."""
