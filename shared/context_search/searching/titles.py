"""What the hits of a tool are called, for people who ask why they are hits."""

from __future__ import annotations

from collections.abc import Sequence

from context_search.core.errors import DatabaseUnavailableError
from context_search.core.json_pointer import contains
from context_search.core.model import HydratedChunk
from context_search.integrations.ports import Clock, Deadline
from context_search.ranking.search import Target
from context_search.searching.search_project import (
    MAX_TITLE_CHARS,
    TITLES,
    around,
    nearest,
)
from context_search.store import Store

READ_CHARS = 1_000
"""Of a string that may be a title: more than is shown, for spaces may stand before it."""
READ_WITHIN_S = 2.0
"""Seconds for all titles of an answer, which is whole without them."""


def titles_of(
    store: Store, clock: Clock, target: Target, chunks: Sequence[HydratedChunk]
) -> dict[int, str]:
    """Returns titles by chunk id, as ``labels_of`` has them, for chunks of a tool's table.

    They are read from its document, in one statement: the index of a tool has long strings only.
    What lies outside of the tool's scope is no title. All are empty when that takes too long.
    """
    if not chunks:
        return {}
    index, table_id = target.index, chunks[0].table_id
    places = {
        f"{outer}/{key}"
        for chunk in chunks
        for outer in around(chunk.json_pointer)
        for key in TITLES
        if contains(target.reach.json_pointer, outer)
    }
    deadline = Deadline(clock, clock.monotonic() + READ_WITHIN_S)
    try:
        with store.for_project(index.project_id, deadline) as work:
            found = work.outlines.beginnings(table_id, sorted(places), chars=READ_CHARS)
    except DatabaseUnavailableError:
        found = None
    texts = {(table_id, pointer): text for pointer, text in found.texts.items()} if found else {}
    name = found.table_name if found else ""
    return {chunk.id: nearest(chunk, TITLES, texts, MAX_TITLE_CHARS) or name for chunk in chunks}
