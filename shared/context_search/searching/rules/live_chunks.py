"""Chunks as they are now, for what a search has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.core.filters import Fields
from context_search.core.model import Index, Reach


@dataclass(frozen=True, slots=True)
class SeenFields:
    """Filterable fields of strings that a tool may show; ``are_all``: of all that it may show."""

    of: tuple[Fields, ...] = ()
    are_all: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a search reads in the end: its tool, or without one its project, the status of the index
    that was searched, and chunks within reach, with or without ``texts``.
    """

    tool_id: int | None
    project_id: int | None
    index: Index
    reach: Reach
    doc_ids: Sequence[str]
    texts: bool
