"""Documents of any size, piece by piece: the children of a place, a window of a string."""

from __future__ import annotations

MAX_WINDOW = 100_000
"""Maximum length of a window of a string, in code points."""
