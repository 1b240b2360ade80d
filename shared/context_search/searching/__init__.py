"""Search: candidates from the legs, chunks from Postgres, one ranking."""
