"""What deleting a row takes with it, as the foreign keys and triggers of Postgres do."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from context_search.adapters.in_memory.rows import Rows, TombstoneRow
from context_search.ports.time import Clock


def remove_nodes(rows: Rows, clock: Clock, node_ids: Iterable[int]) -> None:
    """Deletes nodes, their sets and chunks; every chunk leaves a tombstone.

    Their tables have to be compared once more, unless the caller notes that they were.
    """
    gone = set(node_ids)
    remove_sets_of(rows, clock, gone)
    for node_id in gone:
        if node := rows.nodes.pop(node_id, None):
            rows.compared.pop((node.generation_id, node.table_id), None)


def remove_sets_of(rows: Rows, clock: Clock, node_ids: Collection[int]) -> None:
    """Deletes all sets of nodes, and their chunks; every chunk leaves a tombstone."""
    sets = [row.id for row in rows.sets.values() if row.node_id in node_ids]
    remove_sets(rows, clock, sets)


def remove_sets(rows: Rows, clock: Clock, set_ids: Iterable[int]) -> None:
    """Deletes sets and their chunks; every chunk leaves a tombstone."""
    gone = set(set_ids)
    for chunk in [chunk for chunk in rows.chunks.values() if chunk.set_id in gone]:
        key = (chunk.namespace, chunk.doc_id)
        stone = TombstoneRow(*key, chunk.window_count, clock.now())
        rows.tombstones.setdefault(key, stone)
        del rows.chunks[chunk.id]
    for set_id in gone:
        rows.sets.pop(set_id, None)
