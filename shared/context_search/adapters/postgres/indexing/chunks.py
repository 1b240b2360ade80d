"""Chunk sets in Postgres: rows first, vectors later, then the swap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from context_search.adapters.postgres.pool import Transaction, bulk
from context_search.domain.ids import first_row_id, vector_row_id
from context_search.domain.model import ChunkSet, Claim, EmbeddedChunk, PlannedChunk, StoredChunk

Planned = Sequence[tuple[Claim, Sequence[PlannedChunk]]]

_WANTED = "unnest(CAST(:nodes AS bigint[]), CAST(:hashes AS text[])) AS wanted (node, hash)"
_SWAPPED = "unnest(CAST(:nodes AS bigint[]), CAST(:sets AS bigint[])) AS swapped (node, set)"


@dataclass(frozen=True, slots=True)
class PostgresChunks:
    """The port ``Chunks``."""

    tx: Transaction

    def begin_sets(self, planned: Planned) -> list[ChunkSet]:
        claims = [claim for claim, _ in planned]
        wanted = {
            "nodes": [claim.node_id for claim in claims],
            "hashes": [claim.content_hash for claim in claims],
        }
        self.tx.run(
            f"""
            DELETE FROM chunk_set USING {_WANTED}
            WHERE node_id = wanted.node AND state = 'building' AND content_hash <> wanted.hash
            """,
            **wanted,
        )
        rows = self.tx.run(
            f"""
            SELECT node_id, id FROM chunk_set JOIN {_WANTED}
                ON node_id = wanted.node AND content_hash = wanted.hash
            WHERE state IN ('building', 'active')
            """,
            **wanted,
        )
        found: dict[int, int] = dict(rows)
        added = self._add([each for each in planned if each[0].node_id not in found])
        chunks = self._stored([*found.values(), *added.values()])
        sets = found | added
        return [
            ChunkSet(
                sets[claim.node_id], chunks.get(sets[claim.node_id], ()), claim.node_id not in found
            )
            for claim in claims
        ]

    def _add(self, planned: Planned) -> dict[int, int]:
        if not planned:
            return {}
        rows = self.tx.run(
            """
            INSERT INTO chunk_set (node_id, content_hash, state, chunks_count)
            SELECT node, hash, 'building', count FROM unnest(
                CAST(:nodes AS bigint[]), CAST(:hashes AS text[]), CAST(:counts AS int[])
            ) AS new (node, hash, count)
            RETURNING node_id, id
            """,
            nodes=[claim.node_id for claim, _ in planned],
            hashes=[claim.content_hash for claim, _ in planned],
            counts=[len(chunks) for _, chunks in planned],
        )
        added: dict[int, int] = dict(rows)
        claims = [claim for claim, _ in planned]
        bulk(
            self.tx,
            """
            INSERT INTO chunks (table_id, set_id, json_pointer, chunk_index, total_chunks,
                chunk_text, char_start, char_end, content_hash, turbopuffer_namespace,
                turbopuffer_doc_id, input_hash, window_count)
            SELECT of.table_id, of.set_id, pointer, i, total, t, s, e, hash, namespace, d,
                   decode(h, 'hex'), w
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                n int, i int, t text, s int, e int, d text, h text, w int)
            JOIN unnest(CAST(:sets AS bigint[]), CAST(:tables AS bigint[]),
                        CAST(:pointers AS text[]), CAST(:totals AS int[]), CAST(:hashes AS text[]),
                        CAST(:namespaces AS text[]))
                 WITH ORDINALITY AS of (set_id, table_id, pointer, total, hash, namespace, number)
              ON of.number = n
            ORDER BY n, i
            """,
            (
                {"n": number, **_row(claim, added[claim.node_id], chunk)}
                for number, (claim, chunks) in enumerate(planned, start=1)
                for chunk in chunks
            ),
            sets=[added[claim.node_id] for claim in claims],
            tables=[claim.table_id for claim in claims],
            pointers=[claim.json_pointer for claim in claims],
            totals=[len(chunks) for _, chunks in planned],
            hashes=[claim.content_hash for claim in claims],
            namespaces=[claim.namespace for claim in claims],
        )
        return added

    def _stored(self, set_ids: Sequence[int]) -> Mapping[int, tuple[StoredChunk, ...]]:
        rows = self.tx.run(
            """
            SELECT set_id, chunk_index, id, turbopuffer_doc_id, chunk_text, total_chunks, present,
                   input_hash, window_count FROM chunks
            WHERE set_id = ANY(CAST(:sets AS bigint[])) ORDER BY set_id, chunk_index
            """,
            sets=set_ids,
        )
        return {
            set_id: tuple(StoredChunk(*columns) for _, *columns in group)
            for set_id, group in groupby(rows, key=lambda row: int(row[0]))
        }

    def embedded(self, claim: Claim, input_hashes: Sequence[bytes]) -> list[EmbeddedChunk]:
        rows = self.tx.run(
            """
            SELECT DISTINCT ON (input_hash)
                   input_hash, turbopuffer_namespace, turbopuffer_doc_id, window_count
            FROM chunks
            WHERE input_hash = ANY(CAST(:hashes AS bytea[])) AND present AND table_id = :table
            ORDER BY input_hash, id
            """,
            hashes=list(input_hashes),
            table=claim.table_id,
        )
        return [EmbeddedChunk(*row) for row in rows]

    def mark_present(self, chunk_ids: Sequence[int]) -> None:
        self.tx.run(
            """
            WITH marked AS (
                UPDATE chunks SET present = true, updated_at = clock_timestamp()
                WHERE id = ANY(CAST(:ids AS bigint[])) AND NOT present RETURNING set_id),
            counted AS (SELECT set_id, count(*) AS chunks FROM marked GROUP BY set_id)
            UPDATE chunk_set SET present_count = present_count + counted.chunks
            FROM counted WHERE chunk_set.id = counted.set_id
            """,
            ids=sorted(chunk_ids),
        )

    def activate(self, sets: Sequence[tuple[Claim, int]]) -> set[int]:
        """The caller holds the nodes."""
        ready = self.tx.run(
            """
            SELECT node.id, wanted.set FROM node JOIN unnest(
                CAST(:nodes AS bigint[]), CAST(:hashes AS text[]), CAST(:sets AS bigint[])
            ) AS wanted (node, hash, set) ON node.id = wanted.node AND content_hash = wanted.hash
            WHERE NOT EXISTS (SELECT FROM chunks WHERE set_id = wanted.set AND NOT present)
              AND EXISTS (SELECT FROM chunk_set WHERE id = wanted.set)
            """,
            nodes=[claim.node_id for claim, _ in sets],
            hashes=[claim.content_hash for claim, _ in sets],
            sets=[set_id for _, set_id in sets],
        )
        if not ready:
            return set()
        swapped = {"nodes": [node for node, _ in ready], "sets": [set_id for _, set_id in ready]}
        self.tx.run(
            f"""
            DELETE FROM chunk_set USING {_SWAPPED}
            WHERE node_id = swapped.node AND id <> swapped.set
            """,
            **swapped,
        )
        self.tx.run(
            "UPDATE chunk_set SET state = 'active' WHERE id = ANY(CAST(:sets AS bigint[]))",
            sets=swapped["sets"],
        )
        self.tx.run(
            f"""
            UPDATE node SET state = 'indexed', active_set_id = swapped.set, content = NULL,
                attempt = 0, lease_until = NULL, last_error = NULL, indexed_at = clock_timestamp()
            FROM {_SWAPPED} WHERE node.id = swapped.node
            """,
            **swapped,
        )
        return set(swapped["nodes"])

    def without_row(self, namespace: str, doc_ids: Sequence[str]) -> list[str]:
        """Asks for the first document of each chunk: others are windows of it."""
        rows = self.tx.run(
            """
            SELECT turbopuffer_doc_id FROM chunks
            WHERE turbopuffer_namespace = :namespace
              AND turbopuffer_doc_id = ANY(CAST(:ids AS text[]))
            UNION ALL
            SELECT doc_id FROM tombstone
            WHERE namespace = :namespace AND doc_id = ANY(CAST(:ids AS text[]))
            """,
            namespace=namespace,
            ids=[first_row_id(doc_id) for doc_id in doc_ids],
        )
        known = {doc_id for [doc_id] in rows}
        return [doc_id for doc_id in doc_ids if first_row_id(doc_id) not in known]


def _row(claim: Claim, set_id: int, chunk: PlannedChunk) -> dict[str, object]:
    return {
        "i": chunk.index,
        "t": chunk.text,
        "s": chunk.start,
        "e": chunk.end,
        "d": vector_row_id(
            table_id=claim.table_id,
            json_pointer=claim.json_pointer,
            content_hash=claim.content_hash,
            set_id=set_id,
            chunk_index=chunk.index,
        ),
        "h": chunk.input_hash.hex(),
        "w": chunk.window_count,
    }
