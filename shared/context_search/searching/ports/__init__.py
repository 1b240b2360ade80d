"""What a search reads and keeps in Postgres: chunks, keywords, permits, rankings, settings."""
