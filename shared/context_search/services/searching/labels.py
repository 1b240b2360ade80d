"""What a result is called, and what it is: read from the strings around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from context_search.domain.json_pointer import ancestors
from context_search.domain.model import HydratedChunk, Index
from context_search.ports.store import UnitOfWork

TITLES = ("title", "name")
TYPE = "type"
NEAREST = 4
MAX_TITLE_CHARS = 200
MAX_TYPE_CHARS = 50
DEFAULT_TYPE = "table"


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
    """Returns the pointers of what surrounds a string, the nearest first."""
    *around, _ = ancestors(json_pointer) if json_pointer else ["", ""]
    nearest = around[::-1]
    return dict.fromkeys([*nearest[:NEAREST], *nearest[-1:]])


def _nearest(
    chunk: HydratedChunk,
    keys: Sequence[str],
    strings: Mapping[tuple[int, str], str],
    limit: int,
) -> str | None:
    for outer in _around(chunk.json_pointer):
        for key in keys:
            found = strings.get((chunk.table_id, f"{outer}/{key}"), "").strip()
            if found:
                return found[:limit]
    return None
