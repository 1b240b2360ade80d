"""How well search finds what it should, and whether a change made it worse: docs/quality.md."""
