"""Documents that cannot be indexed as they are: said once, instead of tried for ever."""

from __future__ import annotations

from collections.abc import Mapping

from context_search.ports.store import Store, UnitOfWork


def locked_revision(store: Store, index_id: int, table_id: int | None) -> tuple[int, int] | None:
    """Returns the table that a comparison is about, and its revision; None when it is gone."""
    with store.for_all("carry out an order") as work:
        index = work.indexes.find(index_id)
        chosen = table_id or (index.table_id if index else None)
        revision = work.tables.lock(chosen) if chosen else None
        return None if chosen is None or revision is None else (chosen, revision)


def give_up(
    store: Store, index_id: int, seen: tuple[int, int], record: Mapping[str, object]
) -> None:
    """Takes a document for compared, and its strings out of the index; ``record`` says why.

    Only while the table has the revision that was ``seen``: a change orders another comparison.
    """
    table_id, revision = seen
    with store.for_all("carry out an order") as work:
        index = work.indexes.find(index_id)
        if work.tables.lock(table_id) == revision and index is not None and not index.evicted_at:
            work.indexes.share(index)
            _empty(work, index_id, table_id, revision)
            work.comparisons.note_refused(index_id, table_id, record)


def _empty(work: UnitOfWork, index_id: int, table_id: int, revision: int) -> None:
    scopes = work.comparisons.scopes(index_id)
    for generation in work.indexes.live(index_id):
        known = work.nodes.known(generation.generation_id, table_id)
        work.nodes.remove([node.id for node in known])
        work.comparisons.note_compared(generation, table_id, revision, scopes)
    work.tools.mark_unsettled(index_id)
