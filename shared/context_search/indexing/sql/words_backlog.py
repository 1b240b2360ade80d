"""Words that are written later, in Postgres: a note for each chunk set that lacks some."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

from context_search.core.documents import text_of_chunks
from context_search.core.model import Index
from context_search.indexing.rules.words_backlog import (
    TEXTS_ABOVE,
    WORDS_WAIT_S,
    Unkeyed,
    UnkeyedChunk,
)
from context_search.postgres.pool import Transaction

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
class WordsBacklog:
    """Chunk sets whose tokens are to be kept later: those of full storage (decision 0053)."""

    DUE: ClassVar = """
        SELECT now() WHERE EXISTS (SELECT FROM words_backlog) AND EXISTS (
            SELECT FROM index_generation CROSS JOIN LATERAL (
                SELECT FROM words_backlog
                WHERE generation_id = index_generation.id LIMIT 1) AS waiting
            WHERE state = 'active')
    """
    tx: Transaction

    def note(self, set_ids: Sequence[int]) -> None:
        """Notes that the tokens of these sets' chunks are to be kept."""
        self.tx.run(
            """
            INSERT INTO words_backlog (set_id, generation_id)
            SELECT chunk_set.id, generation_id FROM chunk_set JOIN node ON node.id = node_id
            WHERE chunk_set.id = ANY(CAST(:sets AS bigint[])) ON CONFLICT DO NOTHING
            """,
            sets=list(set_ids),
        )

    def is_behind(self, index: Index) -> bool:
        """Says whether tokens of chunks that the index finds by are not kept yet."""
        [[is_behind]] = self.tx.run(
            "SELECT EXISTS (SELECT FROM words_backlog WHERE generation_id = :generation)",
            generation=index.generation.id,
        )
        return bool(is_behind)

    def take(self, *, limit: int, wait_s: float = WORDS_WAIT_S) -> list[Unkeyed]:
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
