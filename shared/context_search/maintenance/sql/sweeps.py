"""Sweeps in Postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from context_search.maintenance.rules.sweeps import SweepCounts, SweepCursor, SweepExtent
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import ACKNOWLEDGED


@dataclass(frozen=True, slots=True)
class Sweeps:
    """Comparing namespaces with their rows, both ways, page by page."""

    tx: Transaction

    def due(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns live generations in the middle of a sweep, or whose last one is that old.

        First comes what was ordered, then the one whose last whole sweep, or failed one, is longest
        ago; it stays first until its end. So a round takes as many pages as all namespaces have
        together.
        """
        rows = self.tx.run(
            """
            SELECT id, namespace, sweep_after, sweep_counts FROM index_generation
            WHERE state IN ('active', 'building') AND (sweep_after <> '' OR swept_at IS NULL
                OR swept_at < statement_timestamp() - make_interval(secs => :age))
            ORDER BY swept_at IS NOT DISTINCT FROM '-infinity' DESC, swept_at NULLS FIRST, id
            LIMIT :limit
            """,
            age=older_than_s,
            limit=limit,
        )
        return [
            SweepCursor(generation_id, namespace, after, _counts(counts))
            for generation_id, namespace, after, counts in rows
        ]

    def extent(self, *, page: int) -> SweepExtent:
        """Returns how much a round is, in pages of so many vector rows."""
        [row] = self.tx.run(
            """
            WITH namespace AS (
                SELECT CAST(COALESCE(sum(documents), 0) AS bigint) AS rows,
                       clock_timestamp() - COALESCE(
                           CAST(integrity ->> 'at' AS timestamptz), created_at) AS age
                FROM index_generation AS generation
                LEFT JOIN chunk_tally ON chunk_tally.namespace = generation.namespace
                WHERE state IN ('active', 'building') GROUP BY generation.id)
            SELECT CAST(COALESCE(sum(rows), 0) AS bigint),
                   CAST(COALESCE(sum(rows / :page + 1), 0) AS bigint),
                   CAST(COALESCE(extract(epoch FROM max(age)), 0) AS float8)
            FROM namespace
            """,
            page=page,
        )
        return SweepExtent(*row)

    def present_after(self, namespace: str, after: str, limit: int) -> list[tuple[str, int]]:
        """Returns ids and window counts of chunks that should be there, ascending by id (bytes).

        Turbopuffer orders ids by their bytes, so does the collation C.
        """
        rows = self.tx.run(
            f"""
            SELECT turbopuffer_doc_id, window_count FROM chunks
            WHERE turbopuffer_namespace = :namespace AND {ACKNOWLEDGED}
              AND turbopuffer_doc_id COLLATE "C" > :after
            ORDER BY turbopuffer_doc_id COLLATE "C" LIMIT :limit
            """,
            namespace=namespace,
            after=after,
            limit=limit,
        )
        return [(doc_id, windows) for doc_id, windows in rows]

    def note(self, cursor: SweepCursor, *, after: str, found: SweepCounts) -> None:
        """Moves the cursor; ``after`` ``""`` means the end, and the sums become the report."""
        self.tx.run(
            """
            UPDATE index_generation SET sweep_after = :after,
                swept_at = CASE WHEN :after = '' THEN clock_timestamp() ELSE swept_at END,
                sweep_counts = CASE WHEN :after = '' THEN NULL ELSE CAST(:counts AS jsonb) END,
                integrity = CASE WHEN :after = ''
                    THEN CAST(:counts AS jsonb) || jsonb_build_object('at', clock_timestamp())
                    ELSE integrity END
            WHERE id = :generation
            """,
            after=after,
            counts=json.dumps(asdict(cursor.counts.plus(found))),
            generation=cursor.generation_id,
        )
        if not after:
            self.tx.run("SELECT mend_node_tally(:generation)", generation=cursor.generation_id)
            self.tx.run(
                "UPDATE counted_part SET is_due = true WHERE generation_id = :generation",
                generation=cursor.generation_id,
            )

    def put_first(self, generation_id: int) -> None:
        """Makes a generation the next to be compared, from its beginning.

        Longest ago of all is ``-infinity``, before those that were never swept.

        Whoever is told the same meanwhile does not write again.
        """
        self.tx.run(
            """
            UPDATE index_generation
            SET swept_at = '-infinity', sweep_after = '', sweep_counts = NULL
            WHERE id = :generation
              AND (swept_at IS DISTINCT FROM '-infinity' OR sweep_after <> '')
            """,
            generation=generation_id,
        )

    def note_failed(self, cursor: SweepCursor) -> None:
        """Puts a namespace that could not be compared behind the others."""
        self.tx.run(
            "UPDATE index_generation SET swept_at = clock_timestamp() WHERE id = :generation",
            generation=cursor.generation_id,
        )

    def unknown(self, namespaces: Sequence[str]) -> list[str]:
        """Returns those that belong to no generation, in whatever state, ascending."""
        rows = self.tx.run(
            """
            SELECT DISTINCT name COLLATE "C" FROM unnest(CAST(:names AS text[])) AS listed (name)
            WHERE NOT EXISTS (SELECT FROM index_generation WHERE namespace = name)
            ORDER BY 1
            """,
            names=list(namespaces),
        )
        return [name for [name] in rows]

    def reports(self, index_id: int | None) -> list[dict[str, object]]:
        """Returns the last complete report of each live generation, of one index or of all."""
        rows = self.tx.run(
            """
            SELECT namespace, integrity FROM index_generation
            WHERE state IN ('active', 'building') AND integrity IS NOT NULL
              AND index_id IS NOT NULL
              AND (CAST(:index AS bigint) IS NULL OR index_id = :index)
            ORDER BY id
            """,
            index=index_id,
        )
        return [{"namespace": namespace, **json.loads(report)} for namespace, report in rows]


def _counts(text: str | None) -> SweepCounts:
    return SweepCounts(**json.loads(text)) if text else SweepCounts()
