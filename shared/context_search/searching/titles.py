"""What hits are called, from what stands around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from context_search.core.errors import DatabaseUnavailableError
from context_search.core.json_pointer import ancestors, contains
from context_search.core.model import HydratedChunk, Index
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
    strings = work.live_chunks.first_texts(index, sorted(places))
    names = work.tables.names(index.project_id, sorted({chunk.table_id for chunk in chunks}))
    return {
        chunk.id: Label(
            _nearest(chunk, TITLES, strings, MAX_TITLE_CHARS) or names.get(chunk.table_id, ""),
            _nearest(chunk, (TYPE,), strings, MAX_TYPE_CHARS) or DEFAULT_TYPE,
        )
        for chunk in chunks
    }


def _around(json_pointer: str) -> Iterable[str]:
    """Returns the pointers of what surrounds a string and may name it, the nearest first."""
    *outer, _ = ancestors(json_pointer) if json_pointer else ["", ""]
    inmost = outer[::-1]
    return dict.fromkeys([*inmost[:NEAREST], *inmost[-1:]])


def _nearest(
    chunk: HydratedChunk,
    keys: Sequence[str],
    strings: Mapping[tuple[int, str], str],
    limit: int,
) -> str | None:
    """Returns the first string of those by table and pointer that stands around a chunk's."""
    for outer in _around(chunk.json_pointer):
        for key in keys:
            found = strings.get((chunk.table_id, f"{outer}/{key}"), "").strip()
            if found:
                return found[:limit]
    return None


def titles_of(
    store: Store, clock: Clock, target: Target, chunks: Sequence[HydratedChunk]
) -> dict[int, str]:
    """Returns titles by chunk id, as ``labels_of`` has them, for chunks of a tool's table.

    They are read from its document, in one statement: the index of a tool has long strings only.
    What lies outside of the tool's scope is no title, nor, with a filter, what lies outside of the
    string's own object: that has other fields. All are empty when that takes too long.
    """
    if not chunks:
        return {}
    index, table_id = target.index, chunks[0].table_id
    looked_at = None if target.reach.filter is None else 1
    places = {
        f"{outer}/{key}"
        for chunk in chunks
        for outer in list(_around(chunk.json_pointer))[:looked_at]
        for key in TITLES
        if contains(target.reach.json_pointer, outer)
    }
    deadline = Deadline(clock, clock.monotonic() + READ_WITHIN_S)
    try:
        with store.for_project(index.project_id, deadline) as work:
            found = work.tables.beginnings(table_id, sorted(places), chars=READ_CHARS)
    except DatabaseUnavailableError:
        found = None
    texts = {(table_id, pointer): text for pointer, text in found.texts.items()} if found else {}
    name = found.table_name if found else ""
    return {chunk.id: _nearest(chunk, TITLES, texts, MAX_TITLE_CHARS) or name for chunk in chunks}
