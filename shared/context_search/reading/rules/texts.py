"""What is asked for of a text, and what is read of it."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.core.cites import Cite, CiteStatus

MAX_AROUND = 20_000
DEFAULT_AROUND = 1_000
"""Number of characters that are read before and after by default."""
MAX_TEXT_BYTES = 45_000
"""Maximum size of a text in JSON: with what stands around it it fits into a result."""


@dataclass(frozen=True, slots=True)
class WantedText:
    """What is to be read: around ``cite``, or from ``start`` of the string at a pointer.

    ``before`` and ``after`` count characters. ``max_tokens`` None: as much as ``max_bytes`` of
    JSON hold; None: all of it.
    """

    cite: Cite | None = None
    collection: str = ""
    json_pointer: str = ""
    start: int = 0
    before: int = DEFAULT_AROUND
    after: int = DEFAULT_AROUND
    max_tokens: int | None = None
    max_bytes: int | None = MAX_TEXT_BYTES


@dataclass(frozen=True, slots=True)
class SeenText:
    """Characters ``start`` to ``end`` of a string of ``length``, with what became of the cite.

    ``text`` None: it is gone, and so is all that follows. ``collection``: the first by which the
    caller finds the string; None for one that only project search finds. ``was``: the cited text,
    where it has changed. ``is_cut``: less was read than was wanted. ``url``: where people see it.
    """

    status: CiteStatus
    table_id: int
    cite: Cite
    text: str | None = None
    collection: str | None = None
    json_pointer: str = ""
    revision: int = 0
    start: int = 0
    end: int = 0
    length: int = 0
    cited: tuple[int, int] = (0, 0)
    was: str | None = None
    is_cut: bool = False
    previous: Cite | None = None
    next: Cite | None = None
    url: str | None = None
