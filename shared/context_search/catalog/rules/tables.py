"""Tables and their documents, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.core.model import Table


@dataclass(frozen=True, slots=True)
class Part:
    """A value inside a document, as JSON text.

    ``text`` None: it is too long, or it ``lacks`` what was asked for. ``size``: its length in
    bytes. If its numbers alone are too long: theirs.
    """

    revision: int
    size: int
    text: str | None
    is_string: bool
    lacks: bool = False

    @property
    def is_too_long(self) -> bool:
        """Whether it has over as many bytes as were asked for."""
        return self.text is None and not self.lacks


@dataclass(frozen=True, slots=True)
class StringsAt:
    """The strings at a place of a document and below it: how long the longest is, in characters.

    0 where there is none; None where nobody looked, because the document is large.
    """

    longest: int | None


MOST_COUNTED_TOOLS = 1_000
"""Maximum number of tools of a table that a list counts."""


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table in a list. ``stored_bytes``: what Postgres keeps of the document, compressed.

    ``tools_count``: at most MOST_COUNTED_TOOLS. ``index_ids``: the indexes that serve its tools.
    """

    table: Table
    stored_bytes: int
    tools_count: int
    index_ids: Sequence[int]
