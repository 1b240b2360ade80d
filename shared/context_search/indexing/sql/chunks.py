"""Chunk sets in Postgres: rows first, vectors later, then the swap; words after it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

from context_search.core.documents import text_of_chunks
from context_search.core.ids import base36, first_row_id, vector_rows_of
from context_search.core.model import (
    ChunkSet,
    Claim,
    EmbeddedChunk,
    Index,
    KeptChunk,
    PlannedChunk,
    StoredChunk,
    kept_chunks,
)
from context_search.indexing.rules.chunks import (
    TEXTS_ABOVE,
    WORDS_WAIT_S,
    Unkeyed,
    UnkeyedChunk,
)
from context_search.indexing.sql.nodes import note_indexed, queue
from context_search.postgres.pool import Transaction, bulk
from context_search.postgres.visible_rows import ACKNOWLEDGED

Planned = Sequence[tuple[Claim, Sequence[PlannedChunk]]]
_Kept = Mapping[int, tuple[KeptChunk, StoredChunk]]

_DESIRED = "unnest(CAST(:nodes AS bigint[]), CAST(:hashes AS text[])) AS wanted (node, hash)"
_SWAPPED = "unnest(CAST(:nodes AS bigint[]), CAST(:sets AS bigint[])) AS swapped (node, set)"
_MOVED = "unnest(CAST(:chunks AS bigint[]), CAST(:sets AS bigint[])) AS moved (chunk, set)"
# Chunks that were lost: no row is written for any other.
_FOUND = """
    UPDATE chunks SET present = true, updated_at = clock_timestamp()
    WHERE id = ANY(CAST(:ids AS bigint[])) AND NOT present
"""
# Nobody waits: one look. The first set of a generation has waited for the longest time.
_WAITING = """
    SELECT waiting.set_id, chunks_count
    FROM (SELECT served.id FROM index_generation AS served
          JOIN search_index ON search_index.id = served.index_id
          CROSS JOIN LATERAL (
              SELECT set_id FROM words_backlog WHERE generation_id = served.id
              ORDER BY set_id LIMIT 1) AS first
          JOIN chunk_set ON chunk_set.id = first.set_id
          WHERE EXISTS (SELECT FROM words_backlog) AND served.state = 'active'
            AND (chunk_set.created_at < statement_timestamp() - make_interval(secs => :wait)
                 OR NOT EXISTS (
                     SELECT FROM search_index AS own
                     JOIN index_generation AS other ON other.index_id = own.id
                     JOIN node ON node.generation_id = other.id
                     WHERE own.project_id = search_index.project_id
                       AND node.state IN ('queued', 'claimed')))
          ORDER BY random()) AS generation
    CROSS JOIN LATERAL (
        SELECT set_id FROM words_backlog WHERE generation_id = generation.id
        ORDER BY set_id LIMIT :limit) AS waiting
    JOIN chunk_set ON chunk_set.id = waiting.set_id LIMIT :limit
"""


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunk sets and chunk rows; sets of full storage get their words later (decision 0053)."""

    DUE: ClassVar = """
        SELECT now() WHERE EXISTS (SELECT FROM words_backlog) AND EXISTS (
            SELECT FROM index_generation CROSS JOIN LATERAL (
                SELECT FROM words_backlog
                WHERE generation_id = index_generation.id LIMIT 1) AS waiting
            WHERE state = 'active')
    """
    tx: Transaction

    def begin_sets(self, planned: Planned) -> list[ChunkSet]:
        """Finds or inserts the unfinished sets of claimed contents, rows first, vectors later.

        Chunks of a node's active set whose vector rows are wanted again are kept: they get no new
        row. Unfinished sets of the nodes for other contents are deleted. Positions of argument and
        result correspond.
        """
        plans = {claim.node_id: chunks for claim, chunks in planned}
        wanted = {
            "nodes": [claim.node_id for claim, _ in planned],
            "hashes": [claim.content_hash for claim, _ in planned],
        }
        self.tx.run(
            f"""
            DELETE FROM chunk_set USING {_DESIRED} WHERE node_id = wanted.node
                AND state = 'partial' AND content_hash <> wanted.hash
            """,
            **wanted,
        )
        rows = self.tx.run(
            f"""
            SELECT node_id, id, state, content_hash = wanted.hash
            FROM chunk_set JOIN {_DESIRED} ON node_id = wanted.node
            """,
            **wanted,
        )
        found = {node_id: set_id for node_id, set_id, _, is_wanted in rows if is_wanted}
        whole = {node_id for node_id, _, state, same in rows if same and state == "active"}
        kept = self._kept({node_id: plans[node_id] for node_id, *_ in rows if node_id not in whole})
        stored = self._stored(list(found.values()))
        for node_id in set(found) - whole:
            places = [*(row.index for row in stored.get(found[node_id], ())), *kept[node_id]]
            if sorted(places) != list(range(len(plans[node_id]))):
                # Another release planned other chunks: begin anew.
                self.tx.run("DELETE FROM chunk_set WHERE id = :id", id=found.pop(node_id))
        added = self._add([each for each in planned if each[0].node_id not in found], kept)
        stored |= self._stored(list(added.values()))
        sets = found | added
        return [
            _chunk_set(sets[node_id], stored, kept.get(node_id, {}), is_new=node_id in added)
            for node_id in plans
        ]

    def _kept(self, plans: Mapping[int, Sequence[PlannedChunk]]) -> dict[int, _Kept]:
        """Returns by node what plans can keep of the active sets."""
        if not plans:
            return {}
        rows = self.tx.run(
            """
            SELECT node_id, chunks.id, rows_hash, turbopuffer_doc_id, present
            FROM chunk_set JOIN chunks ON set_id = chunk_set.id
            WHERE node_id = ANY(CAST(:nodes AS bigint[])) AND state = 'active'
            ORDER BY node_id, chunk_index
            """,
            nodes=list(plans),
        )
        active: dict[int, list[Any]] = {node_id: [] for node_id in plans}
        for node_id, *row in rows:
            active[node_id].append(row)
        return {node_id: _keep(plans[node_id], of_set) for node_id, of_set in active.items()}

    def _add(self, planned: Planned, kept: Mapping[int, _Kept]) -> dict[int, int]:
        if not planned:
            return {}
        rows = self.tx.run(
            """
            INSERT INTO chunk_set (node_id, content_hash, state, chunks_count)
            SELECT node, hash, 'partial', count
            FROM unnest(CAST(:nodes AS bigint[]), CAST(:hashes AS text[]), CAST(:counts AS int[]))
                AS new (node, hash, count)
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
                turbopuffer_doc_id, input_hash, rows_hash, window_count)
            SELECT of.table_id, of.set_id, pointer, i, total, t, s, e, hash, namespace, d,
                   decode(h, 'hex'), decode(r, 'hex'), w
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                n int, i int, t text, s int, e int, d text, h text, r text, w int)
            JOIN unnest(CAST(:sets AS bigint[]), CAST(:tables AS bigint[]),
                        CAST(:pointers AS text[]), CAST(:totals AS int[]), CAST(:hashes AS text[]),
                        CAST(:namespaces AS text[]))
                 WITH ORDINALITY AS of (set_id, table_id, pointer, total, hash, namespace, number)
              ON of.number = n
            ORDER BY n, i
            """,
            (
                {"n": number, **_row(names, chunk)}
                for number, (claim, chunks) in enumerate(planned, start=1)
                for names in [_names(claim, added[claim.node_id])]
                for chunk in chunks
                if chunk.index not in kept.get(claim.node_id, {})
            ),
            sets=[added[claim.node_id] for claim in claims],
            tables=[claim.table_id for claim in claims],
            pointers=[claim.json_pointer for claim in claims],
            totals=[len(chunks) for _, chunks in planned],
            hashes=[claim.content_hash for claim in claims],
            namespaces=[claim.namespace for claim in claims],
        )
        return added

    def _stored(self, set_ids: Sequence[int]) -> dict[int, tuple[StoredChunk, ...]]:
        if not set_ids:
            return {}
        rows = self.tx.run(
            f"""
            SELECT set_id, chunk_index, id, turbopuffer_doc_id, chunk_text, {ACKNOWLEDGED},
                   input_hash, window_count FROM chunks
            WHERE set_id = ANY(CAST(:sets AS bigint[])) ORDER BY set_id, chunk_index
            """,
            sets=set_ids,
        )
        return {
            set_id: tuple(StoredChunk(*columns) for _, *columns in group)
            for set_id, group in groupby(rows, key=lambda row: int(row[0]))
        }

    def embedded(
        self, claims: Sequence[Claim], input_hashes: Sequence[bytes]
    ) -> list[EmbeddedChunk]:
        """Returns chunks of the claimed nodes' tables that turbopuffer has, one per input."""
        rows = self.tx.run(
            f"""
            SELECT DISTINCT ON (input_hash)
                   input_hash, turbopuffer_namespace, turbopuffer_doc_id, window_count
            FROM chunks
            WHERE input_hash = ANY(CAST(:hashes AS bytea[]))
              AND table_id = ANY(CAST(:tables AS bigint[])) AND {ACKNOWLEDGED}
            ORDER BY input_hash, id
            """,
            hashes=list(input_hashes),
            tables=sorted({claim.table_id for claim in claims}),
        )
        return [EmbeddedChunk(*row) for row in rows]

    def mark_present(self, chunk_ids: Sequence[int]) -> None:
        """Notes that turbopuffer acknowledged these chunks, all windows.

        Those of a set come in the order of the set: what stands before them in an unfinished one
        counts as acknowledged, too.
        """
        self.tx.run(
            f"""
            WITH found AS ({_FOUND} RETURNING set_id),
            counted AS (
                SELECT chunks.set_id, max(chunk_index) + 1 AS behind,
                       (SELECT count(*) FROM found WHERE found.set_id = chunks.set_id) AS found
                FROM chunks WHERE id = ANY(CAST(:ids AS bigint[])) GROUP BY chunks.set_id)
            UPDATE chunk_set SET present_count = CASE state
                WHEN 'partial' THEN GREATEST(present_count, behind)
                ELSE present_count + found END
            FROM counted WHERE chunk_set.id = counted.set_id
            """,
            ids=sorted(chunk_ids),
        )

    def activate(
        self, sets: Sequence[tuple[Claim, ChunkSet]], acknowledged: Collection[int] = ()
    ) -> set[int]:
        """Makes complete sets the active ones of their nodes, and deletes those before.

        ``acknowledged``: chunks that turbopuffer has, and that nobody has noted as present. What a
        set keeps moves into it.
        Returns the nodes that have swapped. One that wants another content by now is left as it is.

        The caller holds the nodes.
        """
        kept = [(chunk, each.id) for _, each in sets for chunk in each.kept]
        self.tx.run(_FOUND, ids=sorted(acknowledged))
        ready = self._ready(sets, kept, acknowledged)
        if not ready:
            return set()
        swapped = {"nodes": [node for node, *_ in ready], "sets": [new for _, new, _ in ready]}
        before = {new: old for _, new, old in ready}
        self._take_over([(chunk, new) for chunk, new in kept if new in before], before)
        self.tx.run(
            f"""
            DELETE FROM chunk_set USING {_SWAPPED}
            WHERE node_id = swapped.node AND id <> swapped.set
            """,
            **swapped,
        )
        self.tx.run(
            """
            UPDATE chunk_set SET state = 'active', present_count = chunks_count
            WHERE id = ANY(CAST(:sets AS bigint[]))
            """,
            sets=swapped["sets"],
        )
        note_indexed(self.tx, {node: new for node, new, _ in ready})
        return set(swapped["nodes"])

    def _ready(
        self,
        sets: Sequence[tuple[Claim, ChunkSet]],
        kept: Sequence[tuple[KeptChunk, int]],
        acknowledged: Collection[int],
    ) -> list[tuple[int, int, int | None]]:
        """Returns the nodes that want the text of their set, all of which is present.

        With each node goes its set, and the one that is active.
        """
        rows = self.tx.run(
            """
            WITH kept AS (
                SELECT kept.set, chunks.set_id AS before, count(*) AS number
                FROM unnest(CAST(:kept AS bigint[]), CAST(:into AS bigint[])) AS kept (chunk, set)
                JOIN chunks ON chunks.id = kept.chunk AND present GROUP BY kept.set, before),
            own AS (
                SELECT set_id, count(*) FILTER (
                    WHERE present AND (state <> 'partial' OR chunk_index < present_count
                                       OR chunks.id = ANY(CAST(:ids AS bigint[])))) AS number
                FROM chunks JOIN chunk_set ON chunk_set.id = set_id
                WHERE set_id = ANY(CAST(:sets AS bigint[])) GROUP BY set_id)
            SELECT node.id, wanted.set, active_set_id FROM node JOIN unnest(
                CAST(:nodes AS bigint[]), CAST(:hashes AS text[]), CAST(:sets AS bigint[]),
                CAST(:keeps AS bigint[])
            ) AS wanted (node, hash, set, keeps)
              ON node.id = wanted.node AND node.content_hash = wanted.hash
            JOIN chunk_set ON chunk_set.id = wanted.set
            LEFT JOIN own ON own.set_id = wanted.set
            LEFT JOIN kept ON kept.set = wanted.set AND before = active_set_id
            WHERE COALESCE(kept.number, 0) = keeps
              AND chunks_count = keeps + COALESCE(own.number, 0)
            """,
            nodes=[claim.node_id for claim, _ in sets],
            hashes=[claim.content_hash for claim, _ in sets],
            sets=[each.id for _, each in sets],
            keeps=[len(each.kept) for _, each in sets],
            kept=[chunk.id for chunk, _ in kept],
            into=[set_id for _, set_id in kept],
            ids=sorted(acknowledged),
        )
        return [(node_id, set_id, active) for node_id, set_id, active in rows]

    def _take_over(
        self, kept: Sequence[tuple[KeptChunk, int]], before: Mapping[int, int | None]
    ) -> None:
        """Moves chunks, with their words, into the sets that keep them; ``before``: from which."""
        if not kept:
            return
        moved = {"chunks": [chunk.id for chunk, _ in kept], "sets": [set_id for _, set_id in kept]}
        self.tx.run(
            """
            UPDATE chunks SET set_id = moved.set, chunk_index = place, char_start = first,
                char_end = behind, content_hash = chunk_set.content_hash,
                total_chunks = chunks_count, updated_at = clock_timestamp()
            FROM unnest(CAST(:chunks AS bigint[]), CAST(:sets AS bigint[]), CAST(:places AS int[]),
                        CAST(:starts AS int[]), CAST(:ends AS int[])
            ) AS moved (chunk, set, place, first, behind) JOIN chunk_set ON chunk_set.id = moved.set
            WHERE chunks.id = moved.chunk
            """,
            places=[chunk.index for chunk, _ in kept],
            starts=[chunk.start for chunk, _ in kept],
            ends=[chunk.end for chunk, _ in kept],
            **moved,
        )
        self.tx.run(  # last: whoever writes words of a chunk holds its row (keywords.py)
            f"UPDATE chunk_words SET set_id = moved.set FROM {_MOVED} WHERE chunk_id = moved.chunk",
            **moved,
        )
        into = sorted({set_id for _, set_id in kept})
        self.tx.run(  # and then: a note of lost words goes with the set that it is about
            """
            INSERT INTO words_backlog SELECT moved.set, generation_id
            FROM unnest(CAST(:into AS bigint[]), CAST(:before AS bigint[])) AS moved (set, before)
            JOIN words_backlog ON set_id = before ON CONFLICT DO NOTHING
            """,
            into=into,
            before=[before[set_id] for set_id in into],
        )

    def without_row(self, namespace: str, doc_ids: Sequence[str]) -> list[str]:
        """Returns those ids that no chunk row and no tombstone of the namespace knows.

        Asks for the first document of each chunk: others are windows of it.
        """
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

    def requeue_missing(self, namespace: str, doc_ids: Sequence[str]) -> list[int]:
        """Notes that vector rows of present chunks are gone; returns the nodes to index again."""
        # The way down from the node, as its deletion goes: no two can wait for each other.
        self.tx.run(
            """
            SELECT FROM node WHERE id IN (
                SELECT node_id FROM chunks JOIN chunk_set ON chunk_set.id = set_id
                WHERE turbopuffer_namespace = :namespace AND present
                  AND turbopuffer_doc_id = ANY(CAST(:ids AS text[])))
            ORDER BY id FOR NO KEY UPDATE
            """,
            namespace=namespace,
            ids=list(doc_ids),
        )
        rows = self.tx.run(
            """
            WITH absent AS (
                UPDATE chunks SET present = false
                WHERE turbopuffer_namespace = :namespace AND present
                  AND turbopuffer_doc_id = ANY(CAST(:ids AS text[]))
                RETURNING set_id),
            counted AS (
                UPDATE chunk_set SET present_count = present_count
                    - CASE state WHEN 'partial' THEN 0 ELSE lost.number END
                FROM (SELECT set_id, count(*) AS number FROM absent GROUP BY set_id) AS lost
                WHERE chunk_set.id = lost.set_id RETURNING chunk_set.node_id)
            SELECT DISTINCT node_id FROM counted
            """,
            namespace=namespace,
            ids=list(doc_ids),
        )
        return queue(
            self.tx,
            """
            SELECT id FROM node WHERE id = ANY(CAST(:nodes AS bigint[])) AND state = 'indexed'
            """,
            nodes=[node_id for [node_id] in rows],
        )

    def postpone_words(self, set_ids: Sequence[int]) -> None:
        """Notes that the tokens of these sets' chunks are to be kept."""
        self.tx.run(
            """
            INSERT INTO words_backlog (set_id, generation_id)
            SELECT chunk_set.id, generation_id FROM chunk_set JOIN node ON node.id = node_id
            WHERE chunk_set.id = ANY(CAST(:sets AS bigint[])) ON CONFLICT DO NOTHING
            """,
            sets=list(set_ids),
        )

    def lacks_words(self, index: Index) -> bool:
        """Says whether tokens of chunks that the index finds by are not kept yet."""
        [[is_behind]] = self.tx.run(
            "SELECT EXISTS (SELECT FROM words_backlog WHERE generation_id = :generation)",
            generation=index.generation.id,
        )
        return bool(is_behind)

    def take_wordless(self, *, limit: int, wait_s: float = WORDS_WAIT_S) -> list[Unkeyed]:
        """Takes up to ``limit`` chunks whose tokens are to be kept, or were deleted by hand.

        Of generations that answer. Those of a project that has strings to index wait until it has
        none, or for ``wait_s``. The caller puts their tokens in the same transaction; no later call
        gives them.

        Takes whole sets while their texts are not too many, at least one.
        """
        waiting = self._waiting(limit, wait_s)
        rows = self.tx.run(
            """
            SELECT set_id, chunk_index, id FROM chunks
            WHERE set_id = ANY(CAST(:sets AS bigint[]))
              AND NOT EXISTS (SELECT FROM chunk_words WHERE chunk_id = chunks.id)
            ORDER BY set_id, chunk_index LIMIT :limit
            """,
            sets=waiting,
            limit=limit + 1,
        )
        firsts = {set_id: place for set_id, place, _ in reversed(rows)}
        near = [row for row in rows[:limit] if row[1] < firsts[row[0]] + TEXTS_ABOVE]
        left = {set_id for set_id, *_ in rows[limit:]}
        left |= {set_id for set_id, place, _ in rows if place >= firsts[set_id] + TEXTS_ABOVE}
        last = rows[limit][0] if len(rows) > limit else math.inf  # further ones were not looked at
        self.tx.run(
            "DELETE FROM words_backlog WHERE set_id = ANY(CAST(:done AS bigint[]))",
            done=[set_id for set_id in waiting if set_id <= last and set_id not in left],
        )
        return self._texts({chunk_id: (set_id, place) for set_id, place, chunk_id in near})

    def _waiting(self, limit: int, wait_s: float) -> list[int]:
        """Returns sets in an order by chance, so that no project waits for a large one."""
        rows = self.tx.run(_WAITING, limit=limit, wait=wait_s)
        room, sets = TEXTS_ABOVE + limit, list[int]()
        for set_id, chunks in rows:
            room -= min(chunks, TEXTS_ABOVE + limit)
            if room < 0 and sets:
                break
            sets.append(set_id)
        return self._held(sets)

    def _held(self, set_ids: Sequence[int]) -> list[int]:
        """Leaves out, for now, sets of strings that somebody swaps or deletes.

        Who does has the chunks, and waits for the note, which is deleted here ahead of the words.
        """
        rows = self.tx.run(
            """
            SELECT chunk_set.id FROM node JOIN chunk_set ON chunk_set.node_id = node.id
            WHERE chunk_set.id = ANY(CAST(:sets AS bigint[]))
            ORDER BY node.id FOR NO KEY UPDATE OF node SKIP LOCKED
            """,
            sets=list(set_ids),
        )
        return [set_id for [set_id] in rows]

    def _texts(self, missing: Mapping[int, tuple[int, int]]) -> list[Unkeyed]:
        places: dict[int, list[int]] = {}
        for set_id, place in missing.values():
            places.setdefault(set_id, []).append(place)
        rows = self.tx.run(
            """
            SELECT chunks.set_id, id, char_start, chunk_text
            FROM unnest(CAST(:sets AS bigint[]), CAST(:firsts AS int[]), CAST(:lasts AS int[]))
                AS wanted (set_id, first, last)
            JOIN chunks ON chunks.set_id = wanted.set_id AND chunk_index BETWEEN first AND last
            ORDER BY chunks.set_id, chunk_index
            """,
            sets=list(places),
            firsts=[min(own) - TEXTS_ABOVE for own in places.values()],
            lasts=[max(own) for own in places.values()],
        )
        return [
            _unkeyed([row[1:] for row in own], missing)
            for _, own in groupby(rows, key=lambda row: int(row[0]))
        ]


def _names(claim: Claim, set_id: int) -> str:
    return vector_rows_of(
        table_id=claim.table_id,
        json_pointer=claim.json_pointer,
        content_hash=claim.content_hash,
        set_id=set_id,
    )


def _row(names: str, chunk: PlannedChunk) -> dict[str, object]:
    return {
        "i": chunk.index,
        "t": chunk.text,
        "s": chunk.start,
        "e": chunk.end,
        "d": names + base36(chunk.index),
        "h": chunk.input_hash.hex(),
        "r": chunk.rows_hash.hex(),
        "w": chunk.window_count,
    }


def _keep(planned: Sequence[PlannedChunk], active: Sequence[Sequence[Any]]) -> _Kept:
    """Returns what a plan can keep of the rows of an active set: id, hash, document, presence."""
    rows = {row_id: (doc_id, present) for row_id, _, doc_id, present in active}
    return {
        chunk.index: (
            chunk,
            StoredChunk(
                index=chunk.index,
                id=chunk.id,
                doc_id=rows[chunk.id][0],
                text=planned[chunk.index].text,
                present=rows[chunk.id][1],
                input_hash=planned[chunk.index].input_hash,
                window_count=planned[chunk.index].window_count,
            ),
        )
        for chunk in kept_chunks(planned, [(row_id, digest) for row_id, digest, *_ in active])
    }


def _chunk_set(
    set_id: int, stored: Mapping[int, tuple[StoredChunk, ...]], kept: _Kept, *, is_new: bool
) -> ChunkSet:
    chunks = [*stored.get(set_id, ()), *(row for _, row in kept.values())]
    return ChunkSet(
        set_id,
        tuple(sorted(chunks, key=lambda chunk: chunk.index)),
        is_new=is_new,
        kept=tuple(chunk for chunk, _ in kept.values()),
    )


def _unkeyed(rows: Sequence[Sequence[Any]], missing: Collection[int]) -> Unkeyed:
    """Returns the chunks of one set that are missing, in the text that the rows hold."""
    begin = rows[0][1]
    return Unkeyed(
        text_of_chunks((start - begin, text) for _, start, text in rows),
        [
            UnkeyedChunk(chunk_id, start - begin, start - begin + len(text))
            for chunk_id, start, text in rows
            if chunk_id in missing
        ],
    )
