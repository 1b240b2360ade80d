"""The strings of an index one by one, in Postgres: each statement follows an index."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_search.core.ids import pointer_sha256
from context_search.core.model import Index, Scope
from context_search.core.progress import NodeProgress, NodeState
from context_search.indexing.rules.large_strings import (
    ChunkSpan,
    LargeString,
    StringPage,
    StringPlace,
    StringsBelow,
)
from context_search.indexing.sql.node_counts import range_of
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import ACKNOWLEDGED, ITS_TABLE_IS_THERE

_COLUMNS = """
    node.id, node.table_id, node.json_pointer, node.char_count, node.state, node.last_error,
    node.attempt, CASE node.state WHEN 'queued' THEN node.next_at END, node.content_hash,
    node.changed_at, node.indexed_at, current_set.id, current_set.content_hash,
    current_set.chunks_count, current_set.state
"""
# The one that searches read; before there is one, the one that is being made.
_CURRENT_SET = """
    LEFT JOIN LATERAL (
        SELECT chunk_set.id, chunk_set.content_hash, chunks_count, chunk_set.state
        FROM chunk_set WHERE chunk_set.node_id = node.id
        ORDER BY chunk_set.state LIMIT 1) AS current_set ON true
"""


# Functions of the owner: with the policy of ``node`` no range of pointers comes from an index.
_ALL = """
    strings_after(:generation, :table, :scope, :last, :pointer, :id, :looked_at)
"""
_UNFINISHED = """
    unfinished_after(:generation, :table, :state, :scope, :last, :pointer, :id, :looked_at)
"""
_ALL_OF_ALL = "strings_of_all_after(:generation, :table, :pointer, :id, :looked_at)"
_UNFINISHED_OF_ALL = (
    "unfinished_of_all_after(:generation, :state, :table, :pointer, :id, :looked_at)"
)


@dataclass(frozen=True, slots=True)
class LargeStrings:
    """The strings of an index one by one, for people. Each method costs what it returns."""

    tx: Transaction

    def page(
        self,
        index: Index,
        scope: Scope | None,
        *,
        state: NodeState | None,
        after: StringPlace | None,
        limit: int,
        among: int,
    ) -> StringPage:
        """Returns strings of a scope by pointer, at most ``limit``, of those of one state if so.

        Without a scope those of all live tables, table by table. Of ``among`` that it looks at; so
        a page may be short, or empty, while there is more.
        """
        # Strings that are not indexed are in an index by state; of all others each is looked at.
        is_unfinished = state not in (None, "indexed")
        looked_at = among if state == "indexed" else limit + 1
        if scope is None:
            which = _UNFINISHED_OF_ALL if is_unfinished else _ALL_OF_ALL
            place = _place(after or StringPlace(0, "", 0))
        else:
            which = _UNFINISHED if is_unfinished else _ALL
            place = _place_in(scope, after)
        rows = self.tx.run(
            f"""
            SELECT {ITS_TABLE_IS_THERE}, {_COLUMNS} FROM {which}
                WITH ORDINALITY AS found (id, number)
            CROSS JOIN LATERAL (  -- one by one: a merge would walk all ids up to the highest
                SELECT * FROM node WHERE id = found.id OFFSET 0) AS node
            {_CURRENT_SET} ORDER BY found.number
            """,
            generation=index.generation.id,
            looked_at=looked_at,
            **place,
            **({"state": state} if is_unfinished else {}),
        )
        found = [(is_there, _large_string(row)) for is_there, *row in rows]
        wanted = [each for is_there, each in found if is_there and _is_in(each, state)]
        if len(wanted) > limit:
            return StringPage(wanted[:limit], StringPlace.of(wanted[limit - 1]))
        is_last = len(found) < looked_at
        return StringPage(wanted, None if is_last else StringPlace.of(found[-1][1]))

    def at(self, index: Index, table_id: int, pointers: Sequence[str]) -> dict[str, LargeString]:
        """Returns those strings of a table that stand at exactly these pointers."""
        rows = self.tx.run(
            f"""
            SELECT {_COLUMNS}
            FROM unnest(CAST(:shas AS text[])) AS wanted (sha)
            JOIN node ON node.generation_id = :generation AND node.table_id = :table
                     AND node.pointer_sha256 = decode(wanted.sha, 'hex') {_CURRENT_SET}
            """,
            generation=index.generation.id,
            table=table_id,
            shas=[pointer_sha256(pointer).hex() for pointer in pointers],
        )
        found = [_large_string(row) for row in rows]
        return {each.progress.json_pointer: each for each in found}

    def below(
        self, index: Index, table_id: int, pointers: Sequence[str], *, most: int
    ) -> list[StringsBelow]:
        """Returns the counts at each pointer and below it, as far as ``most``."""
        ranges = [range_of(pointer) for pointer in pointers]
        rows = self.tx.run(
            """
            SELECT large, problems FROM strings_below(
                :generation, :table, CAST(:scopes AS text[]), CAST(:firsts AS text[]),
                CAST(:lasts AS text[]), :most)
            """,
            generation=index.generation.id,
            table=table_id,
            scopes=[each["scope"] for each in ranges],
            firsts=[each["first"] for each in ranges],
            lasts=[each["last"] for each in ranges],
            most=most,
        )
        return [StringsBelow(*row) for row in rows]

    def spans(self, set_id: int, *, first: int, limit: int) -> list[ChunkSpan]:
        """Returns chunks of a set from index ``first`` on."""
        rows = self.tx.run(
            f"""
            SELECT chunk_index, char_start, char_end, {ACKNOWLEDGED}, window_count FROM chunks
            WHERE set_id = :set AND chunk_index >= :first ORDER BY chunk_index LIMIT :limit
            """,
            set=set_id,
            first=first,
            limit=limit,
        )
        return [ChunkSpan(*row) for row in rows]

    def first_behind(self, set_id: int, chunks_count: int, char: int) -> int:
        """Returns the index of the first chunk that ends behind a character.

        Where there is none, how many chunks there are.

        Halves the set again and again: 200,000 chunks are 18 rows.
        """
        [[first]] = self.tx.run(
            """
            WITH RECURSIVE sought (low, high) AS (
                SELECT 0, CAST(:count AS int)
                UNION ALL
                SELECT CASE WHEN char_end > :char THEN low ELSE chunk_index + 1 END,
                       CASE WHEN char_end > :char THEN chunk_index ELSE high END
                FROM sought JOIN chunks
                    ON chunks.set_id = :set AND chunks.chunk_index = (low + high) / 2
                WHERE low < high)
            SELECT max(low) FROM sought
            """,
            set=set_id,
            count=chunks_count,
            char=char,
        )
        return int(first)


def _place(place: StringPlace) -> dict[str, object]:
    return {"table": place.table_id, "pointer": place.pointer, "id": place.id}


def _place_in(scope: Scope, after: StringPlace | None) -> dict[str, object]:
    within = range_of(scope.json_pointer)
    begin = StringPlace(scope.table_id, within["first"], 0)
    if after is not None and after.pointer >= begin.pointer:
        begin = after
    return {**_place(begin), "scope": within["scope"], "last": within["last"]}


def _is_in(string: LargeString, state: NodeState | None) -> bool:
    return state in (None, string.progress.state)


def _large_string(row: Sequence[Any]) -> LargeString:
    node_id, table_id, pointer, chars, state, error, attempts, next_at, *more = row
    content_hash, changed_at, indexed_at, set_id, chunks_hash, chunks, set_state = more
    last_error = json.loads(error) if error else None
    return LargeString(
        node_id,
        table_id,
        NodeProgress(pointer, chars, state, chunks, last_error, attempts, next_at),
        content_hash,
        changed_at,
        indexed_at,
        set_id,
        chunks_hash,
        set_state == "active",
    )
