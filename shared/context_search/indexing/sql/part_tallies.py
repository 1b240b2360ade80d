"""Which parts of indexes are counted apart, and their first sums (decision 0063)."""

from __future__ import annotations

from context_search.indexing.sql.node_counts import range_of
from context_search.postgres.pool import Transaction

_ENTER = """
    WITH part AS MATERIALIZED (SELECT generation_id, scope FROM needed_part),
    left_behind AS (
        DELETE FROM counted_part WHERE NOT EXISTS (
            SELECT FROM part WHERE part.generation_id = counted_part.generation_id
                               AND part.scope = counted_part.scope))
    INSERT INTO counted_part (generation_id, scope)
    SELECT generation_id, scope FROM part WHERE NOT EXISTS (
        SELECT FROM counted_part WHERE counted_part.generation_id = part.generation_id
                                   AND counted_part.scope = part.scope)
    RETURNING 1
"""
# Nobody else at it, and the transaction has no number yet: what it notes is given to it when it
# has seen the part, after everybody who has not.
_MAY_BEGIN = """
    SELECT pg_try_advisory_xact_lock(hashtextextended('context_search.parts', 0))
        AND pg_current_xact_id_if_assigned() IS NULL
"""
# A number from the future is another cluster's: the database was restored from a dump.
_NOTE_SEEN = """
    UPDATE counted_part SET seen_from = pg_current_xact_id()
    WHERE is_due AND NOT is_summed
      AND (seen_from IS NULL OR seen_from > pg_snapshot_xmax(pg_current_snapshot()))
    RETURNING 1
"""
# By chance: one that is too large for the time of a statement does not keep the others waiting.
_ONE_DUE = """
    SELECT counted_part.id, search_index.table_id, scope
    FROM counted_part JOIN index_generation ON index_generation.id = generation_id
    JOIN search_index ON search_index.id = index_id
    WHERE is_due AND (is_summed OR seen_from < pg_snapshot_xmin(pg_current_snapshot()))
    ORDER BY random() LIMIT 1
"""


def advance(tx: Transaction) -> bool:
    """Takes parts one step further; returns whether another step can follow at once.

    A part is entered first. The next transaction notes its own number: whoever writes and has not
    seen the part has a smaller one. When all of those have ended it is summed, one part a step.
    Nothing happens in a transaction that has written already.
    """
    if tx.run(_MAY_BEGIN) != [[True]]:
        return False
    seen = tx.run(_NOTE_SEEN)
    return bool(tx.run(_ENTER) or seen) or _sum_one(tx)


def _sum_one(tx: Transaction) -> bool:
    due = tx.run(_ONE_DUE)
    for part_id, table_id, scope in due:
        bounds = range_of(scope)
        tx.run(
            "SELECT mend_part_tally(:part, :table, :first, :last)",
            part=part_id,
            table=table_id,
            first=bounds["first"],
            last=bounds["last"],
        )
        tx.run(
            "UPDATE counted_part SET is_summed = true, is_due = false WHERE id = :part",
            part=part_id,
        )
    return bool(due)


def compact(tx: Transaction) -> None:
    """Adds up the rows of each part; those of parts that are gone go."""
    tx.run(
        """
        WITH many AS (
            SELECT part_id FROM part_tally GROUP BY part_id
            HAVING count(*) > 1
                OR NOT EXISTS (SELECT FROM counted_part WHERE counted_part.id = part_id)),
        gone AS (
            DELETE FROM part_tally WHERE part_id IN (SELECT part_id FROM many)
            RETURNING part_id, nodes, chunks, indexed_at)
        INSERT INTO part_tally (part_id, nodes, chunks, indexed_at)
        SELECT part_id, sum(nodes), sum(chunks), max(indexed_at) FROM gone
        WHERE EXISTS (SELECT FROM counted_part WHERE counted_part.id = part_id) GROUP BY part_id
        """
    )
