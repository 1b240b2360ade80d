"""What hits are called, from what stands around them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from context_search.core.errors import DatabaseUnavailableError
from context_search.core.json_pointer import ancestors, contains
from context_search.core.model import HydratedChunk, Index, Scope
from context_search.integrations.ports import Clock, Deadline
from context_search.ranking.search import Target
from context_search.store import Store, UnitOfWork

TITLES = ("title", "name")
TYPE = "type"
NEAREST = 4
MAX_TITLE_CHARS = 200
MAX_TYPE_CHARS = 50
DEFAULT_TYPE = "table"
READ_CHARS = 1_000
"""Of a string that may be a title: more than is shown, for spaces may stand before it."""
READ_WITHIN_S = 2.0
"""Seconds for all titles of an answer, which is whole without them."""


@dataclass(frozen=True, slots=True)
class Label:
    """``title``: ``title`` or ``name`` of the nearest object around the string that has one, else
    the table's name. ``type``: ``type`` of the nearest object, else ``table``.
    """

    title: str
    type: str


def labels_of(work: UnitOfWork, index: Index, chunks: Sequence[HydratedChunk]) -> dict[int, Label]:
    """Returns the labels by chunk id. Looks at the four nearest objects or arrays, and the root."""
    places = {
        (chunk.table_id, f"{outer}/{key}")
        for chunk in chunks
        for outer in _around(chunk.json_pointer)
        for key in (*TITLES, TYPE)
    }
    strings: dict[int, dict[str, str]] = defaultdict(dict)
    for (table_id, pointer), text in work.live_chunks.first_texts(index, sorted(places)).items():
        strings[table_id][pointer] = text
    names = work.tables.names(index.project_id, sorted({chunk.table_id for chunk in chunks}))

    def label(chunk: HydratedChunk) -> Label:
        pointer, of_table = chunk.json_pointer, strings[chunk.table_id]
        title = _nearest(pointer, TITLES, of_table, MAX_TITLE_CHARS)
        kind = _nearest(pointer, (TYPE,), of_table, MAX_TYPE_CHARS)
        return Label(title or names.get(chunk.table_id, ""), kind or DEFAULT_TYPE)

    return {chunk.id: label(chunk) for chunk in chunks}


def _around(json_pointer: str) -> Iterable[str]:
    """Returns the pointers of what surrounds a string and may name it, the nearest first."""
    *outer, _ = ancestors(json_pointer) if json_pointer else ["", ""]
    inmost = outer[::-1]
    return dict.fromkeys([*inmost[:NEAREST], *inmost[-1:]])


def _nearest(
    json_pointer: str, keys: Sequence[str], strings: Mapping[str, str], limit: int
) -> str | None:
    """Returns the first string of those by pointer that stands around a place."""
    for outer in _around(json_pointer):
        for key in keys:
            found = strings.get(f"{outer}/{key}", "").strip()
            if found:
                return found[:limit]
    return None


def titles_of(
    store: Store, clock: Clock, target: Target, chunks: Sequence[HydratedChunk]
) -> dict[int, str]:
    """Returns titles by chunk id, as ``titles_at`` has them, for chunks of a tool's table."""
    if not chunks:
        return {}
    scope = Scope(chunks[0].table_id, target.reach.json_pointer)
    is_filtered = target.reach.filter is not None
    pointers = {chunk.json_pointer for chunk in chunks}
    titles = titles_at(
        store, clock, target.index.project_id, scope, pointers, is_filtered=is_filtered
    )
    return {chunk.id: titles[chunk.json_pointer] for chunk in chunks}


def titles_at(
    store: Store,
    clock: Clock,
    project_id: int,
    scope: Scope,
    pointers: Collection[str],
    *,
    is_filtered: bool,
) -> dict[str, str]:
    """Returns what strings are called by their pointers, as ``labels_of`` calls them.

    They are read from its document, in one statement: the index of a tool has long strings only.
    What lies outside of the scope is no title, nor, with a filter, what lies outside of the
    string's own object: that has other fields. All are empty when that takes too long.
    """
    looked_at = 1 if is_filtered else None
    places = {
        f"{outer}/{key}"
        for pointer in pointers
        for outer in list(_around(pointer))[:looked_at]
        for key in TITLES
        if contains(scope.json_pointer, outer)
    }
    deadline = Deadline(clock, clock.monotonic() + READ_WITHIN_S)
    try:
        with store.for_project(project_id, deadline) as work:
            found = work.tables.beginnings(scope.table_id, sorted(places), chars=READ_CHARS)
    except DatabaseUnavailableError:
        found = None
    texts, name = (found.texts, found.table_name) if found else ({}, "")
    return {
        pointer: _nearest(pointer, TITLES, texts, MAX_TITLE_CHARS) or name for pointer in pointers
    }
