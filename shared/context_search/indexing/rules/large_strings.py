"""The strings of an index one by one, as people look at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from context_search.core.progress import NodeProgress

PLACE_CHARS = 200
"""Characters of a pointer by which strings are ordered; pointers are too long for an index."""


@dataclass(frozen=True, slots=True)
class LargeString:
    """A string of an index: how far it is, and of which text its chunks are.

    ``chunks_hash``: sha256 of the text that they were cut from; None: there are none. They are
    ``active`` when searches read them.
    """

    id: int
    table_id: int
    progress: NodeProgress
    content_hash: str
    changed_at: datetime
    indexed_at: datetime | None
    set_id: int | None = None
    chunks_hash: str | None = None
    is_active: bool = False


@dataclass(frozen=True, slots=True)
class StringPlace:
    """Where a page of strings goes on: behind this one, by table and beginning of the pointer."""

    table_id: int
    pointer: str
    id: int

    @classmethod
    def of(cls, string: LargeString) -> StringPlace:
        """Returns where a page ends that ends with a string."""
        return cls(string.table_id, string.progress.json_pointer[:PLACE_CHARS], string.id)


@dataclass(frozen=True, slots=True)
class StringPage:
    """Strings by pointer, and where to go on when there are more to look at."""

    rows: Sequence[LargeString]
    next_after: StringPlace | None


@dataclass(frozen=True, slots=True)
class StringsBelow:
    """How many strings of an index lie at a place or below it, and how many were given up."""

    large: int
    problems: int


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A chunk by its place in the string, in code points.

    ``is_present``: turbopuffer has it, in ``windows`` rows.
    """

    index: int
    start: int
    end: int
    is_present: bool
    windows: int
