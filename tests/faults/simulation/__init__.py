"""The real services under a seeded scheduler that interleaves, kills, loses and delays."""
