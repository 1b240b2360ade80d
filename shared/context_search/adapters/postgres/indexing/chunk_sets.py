"""Chunk sets in Postgres, many at once: rows first, later the swap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from context_search.adapters.postgres.pool import Transaction, bulk
from context_search.domain.ids import vector_row_id
from context_search.domain.model import ChunkSet, Claim, PlannedChunk, StoredChunk

Planned = Sequence[tuple[Claim, Sequence[PlannedChunk]]]

_WANTED = "unnest(CAST(:nodes AS bigint[]), CAST(:hashes AS text[])) AS wanted (node, hash)"
_SWAPPED = "unnest(CAST(:nodes AS bigint[]), CAST(:sets AS bigint[])) AS swapped (node, set)"


def begin_sets(tx: Transaction, planned: Planned) -> list[ChunkSet]:
    """Finds or inserts the building sets of claimed contents; see the port ``Chunks``."""
    claims = [claim for claim, _ in planned]
    wanted = {
        "nodes": [claim.node_id for claim in claims],
        "hashes": [claim.content_hash for claim in claims],
    }
    tx.run(
        f"""
        DELETE FROM chunk_set USING {_WANTED}
        WHERE node_id = wanted.node AND state = 'building' AND content_hash <> wanted.hash
        """,
        **wanted,
    )
    rows = tx.run(
        f"""
        SELECT node_id, id FROM chunk_set JOIN {_WANTED}
            ON node_id = wanted.node AND content_hash = wanted.hash
        WHERE state IN ('building', 'active')
        """,
        **wanted,
    )
    found: dict[int, int] = dict(rows)
    added = _add(tx, [each for each in planned if each[0].node_id not in found])
    chunks = _stored(tx, [*found.values(), *added.values()])
    sets = found | added
    return [
        ChunkSet(
            sets[claim.node_id], chunks.get(sets[claim.node_id], ()), claim.node_id not in found
        )
        for claim in claims
    ]


def _add(tx: Transaction, planned: Planned) -> dict[int, int]:
    if not planned:
        return {}
    rows = tx.run(
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
        tx,
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


def _stored(tx: Transaction, set_ids: Sequence[int]) -> Mapping[int, tuple[StoredChunk, ...]]:
    rows = tx.run(
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


def activate_sets(tx: Transaction, sets: Sequence[tuple[Claim, int]]) -> set[int]:
    """Makes complete sets active; see the port ``Chunks``. The caller holds the nodes.

    Returns the ids of the nodes that have swapped.
    """
    ready = tx.run(
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
    tx.run(
        f"""
        DELETE FROM chunk_set USING {_SWAPPED}
        WHERE node_id = swapped.node AND id <> swapped.set
        """,
        **swapped,
    )
    tx.run(
        "UPDATE chunk_set SET state = 'active' WHERE id = ANY(CAST(:sets AS bigint[]))",
        sets=swapped["sets"],
    )
    tx.run(
        f"""
        UPDATE node SET state = 'indexed', active_set_id = swapped.set, content = NULL,
            attempt = 0, lease_until = NULL, last_error = NULL, indexed_at = clock_timestamp()
        FROM {_SWAPPED} WHERE node.id = swapped.node
        """,
        **swapped,
    )
    return set(swapped["nodes"])


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
