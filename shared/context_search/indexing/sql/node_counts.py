"""How far nodes are, in Postgres."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from context_search.core.model import Index
from context_search.core.progress import (
    MOST_REFUSED,
    IndexState,
    IndexStatus,
    NodeProgress,
    NodeState,
    Progress,
    eviction_reason,
    given_up,
    index_status,
)
from context_search.indexing.sql.comparisons import BEHIND, PROJECT_BEHIND
from context_search.postgres.pool import Transaction
from context_search.postgres.session import Statement
from context_search.postgres.visible_rows import TABLE_IS_THERE, TOOL_IS_THERE

_INDEXED_CHARS = 200
"""Characters of a pointer that are in an index; pointers are too long for one."""
_POINTER = f'left(node.json_pointer, {_INDEXED_CHARS}) COLLATE "C"'
_IN_TREE = "(node.json_pointer = :scope OR starts_with(node.json_pointer, :scope || '/'))"
# Those of a table's index are all of that table, and the index on pointers begins with it.
_IN_SCOPE = f"""
    node.table_id = :table AND {_POINTER} >= CAST(:first AS text)
    AND {_POINTER} < CAST(:last AS text)
    AND {_IN_TREE}
"""

_IS_GIVEN_UP = "node.state IN ('quarantined', 'skipped')"
_WAITS_FOR_ROOM = "node.state = 'skipped' AND last_error ->> 'code' = 'PROJECT_FULL'"
# The set that answers, or while there is none the one that is being built.
_IS_CURRENT = "(state = 'active' OR active_set_id IS NULL)"
_WHOLE = f"""
    WITH unready AS MATERIALIZED (
        SELECT chunk_set.id, chunk_set.state, chunks_count, present_count, active_set_id
        FROM chunk_set JOIN node ON node.id = chunk_set.node_id
        WHERE (chunk_set.state <> 'active' OR present_count < chunks_count)
          AND node.generation_id = :generation),
    counted AS MATERIALIZED (
        SELECT state, count(*) AS nodes FROM node
        WHERE generation_id = :generation AND state <> 'indexed' GROUP BY state)
    SELECT
        (SELECT COALESCE(json_object_agg(state, nodes), '{{}}') FROM counted),
        (SELECT CAST(COALESCE(sum(nodes), 0) AS bigint) FROM node_tally
         WHERE generation_id = :generation),
        EXISTS (SELECT FROM node WHERE generation_id = :generation AND {_WAITS_FOR_ROOM}),
        (SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM chunk_tally
         WHERE namespace = :namespace)
        - (SELECT count(*) FROM chunks WHERE set_id IN (
               SELECT id FROM unready WHERE NOT {_IS_CURRENT})),
        (SELECT CAST(COALESCE(sum(chunks_count - present_count), 0) AS bigint)
         FROM unready WHERE {_IS_CURRENT}),
        (SELECT max(indexed_at) FROM node WHERE generation_id = :generation),
        (SELECT min(next_at) FROM node WHERE generation_id = :generation AND state = 'queued'),
        (SELECT last_error FROM node
         WHERE generation_id = :generation AND last_error IS NOT NULL
         ORDER BY last_error ->> 'at' DESC NULLS LAST, id DESC LIMIT 1)
"""
# A function of the owner: with the policy of ``node`` no range of pointers comes from an index.
_PART = """
    SELECT of_state, nodes, is_full, chunks_made, chunks_present, latest_at, earliest_at,
           latest_error
    FROM counts_of_scope(:generation, :table, :scope, :first, :last)
"""
_IS_SILENT = """
    EXISTS (
        SELECT FROM node WHERE generation_id = {generation}
        AND state IN ('queued', 'claimed') AND COALESCE(lease_until, next_at)
            < statement_timestamp() - make_interval(secs => :silent))
"""
_HAS_WORKERS = """
    EXISTS (  -- workers are at strings of the project, so others wait for their turn
        SELECT FROM search_index AS own
        JOIN index_generation AS served ON served.index_id = own.id
        WHERE own.project_id = :project AND (
            EXISTS (SELECT FROM node WHERE generation_id = served.id
                    AND state = 'claimed' AND lease_until > statement_timestamp())
            OR EXISTS (SELECT FROM node WHERE generation_id = served.id AND indexed_at
                       > statement_timestamp() - make_interval(secs => :silent))))
"""
_STALLED = f"""
    SELECT count(*) FROM search_index
    JOIN index_generation AS answering ON answering.index_id = search_index.id
    WHERE search_index.project_id = :project AND evicted_at IS NULL
      AND answering.state = 'active' AND {_IS_SILENT.format(generation="answering.id")}
      AND NOT {_HAS_WORKERS}
"""
_WORK = f"""
    {_IS_SILENT.format(generation=":generation")} AND NOT {_HAS_WORKERS},
    (SELECT order_error FROM search_index WHERE id = :index),
    (SELECT json_agg(refused) FROM (
        SELECT refused FROM comparison
        JOIN index_table USING (table_id)  -- a table that is gone is no trouble
        WHERE generation_id = :generation AND index_id = :index AND refused IS NOT NULL
        ORDER BY refused ->> 'at' DESC, table_id LIMIT {MOST_REFUSED}) AS told)
"""
# By scope. Nobody has counted those of a project's index, or of a scope that is yet to be compared.
_SHORT = """
    (SELECT short_strings FROM comparison
     WHERE generation_id = :generation AND table_id = :table)
"""
_CURRENT_SET = """
    LEFT JOIN LATERAL (
        SELECT chunks_count FROM chunk_set
        WHERE node_id = listed.id
        ORDER BY state LIMIT 1
    ) AS current_set ON true
"""
_BY_POINTER = f'ORDER BY {_POINTER}, node.json_pointer COLLATE "C"'
_UNFINISHED_LAST = "ORDER BY {of}.state IN ('queued', 'claimed'), {of}.id"


_MOVING = """
    SELECT EXISTS (SELECT FROM search_index WHERE id = :index AND order_error IS NOT NULL)
        OR EXISTS (SELECT FROM node WHERE generation_id = :generation AND state <> 'indexed')
        OR {or_else}, {short}
"""
_TABLE = _MOVING.format(
    or_else=f"""
        EXISTS (
            SELECT FROM context_table LEFT JOIN comparison
                ON comparison.generation_id = :generation AND comparison.table_id = context_table.id
            WHERE {TABLE_IS_THERE} AND context_table.id = :table
              AND (comparison.revision IS DISTINCT FROM context_table.revision
                   OR comparison.refused IS NOT NULL
                   OR comparison.scopes IS DISTINCT FROM ARRAY(
                       SELECT DISTINCT coverage.scope COLLATE "C"
                       FROM coverage JOIN tool ON tool.id = coverage.tool_id
                       WHERE {TOOL_IS_THERE} AND coverage.index_id = :index ORDER BY 1)))
    """,
    short=f"CAST({_SHORT} ->> :scope AS bigint)",
)
_PROJECT = _MOVING.format(
    or_else=f"""
        {PROJECT_BEHIND} OR EXISTS (
            SELECT FROM comparison JOIN context_table ON context_table.id = comparison.table_id
            WHERE comparison.generation_id = :generation AND comparison.refused IS NOT NULL
              AND {TABLE_IS_THERE})
    """,
    short="NULL",
)

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


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """Counts of nodes, by state and scope. ``silent_s`` is for how long silence is fine."""

    DUE: ClassVar = """
        SELECT now() WHERE EXISTS (SELECT FROM counted_part WHERE is_due)
        UNION ALL SELECT now() WHERE EXISTS (
            SELECT FROM needed_part WHERE NOT EXISTS (
                SELECT FROM counted_part AS known
                WHERE known.generation_id = needed_part.generation_id
                  AND known.scope = needed_part.scope))
    """
    tx: Transaction

    def state(self, index: Index, scope: str, *, silent_s: float) -> IndexState:
        """Returns how an index is; cheap, it reads unfinished nodes only."""
        # Every search asks this first: Postgres takes 2 ms to plan the other query.
        sql, parameters = self.moving_statement(index, scope)
        [moving] = self.tx.run(sql, **parameters)
        return self.state_of(index, scope, moving, silent_s=silent_s)

    def moving_statement(self, index: Index, scope: str) -> Statement:
        """Returns the statement that tells whether an index moves, and a scope's short strings."""
        return _PROJECT if index.table_id is None else _TABLE, {
            "index": index.id,
            "generation": index.generation.id,
            "table": index.table_id,
            "project": index.project_id,
            "scope": scope,
        }

    def state_of(
        self, index: Index, scope: str, moving: Sequence[Any], *, silent_s: float
    ) -> IndexState:
        """Returns what ``state`` does, where the row of ``moving_statement`` was read before."""
        is_moving, short = moving
        if not is_moving:
            return IndexState(_status(index, {}, _AT_REST, full=False), short)
        condition = _behind(index)
        [[counted, *work]] = self.tx.run(
            f"""
            SELECT (SELECT json_agg(json_build_array(state, nodes, is_full, given_up)) FROM (
                       SELECT state, count(*) AS nodes, bool_or({_WAITS_FOR_ROOM}) AS is_full,
                              count(*) FILTER (WHERE {_IS_GIVEN_UP} AND {_IN_TREE}) AS given_up
                       FROM node
                       WHERE generation_id = :generation AND state <> 'indexed' GROUP BY state
                   ) AS counted), {_WORK}, {condition}
            """,
            index=index.id,
            project=index.project_id,
            generation=index.generation.id,
            silent=silent_s,
            scope=scope,
        )
        rows = json.loads(counted or "[]")
        states: dict[NodeState, int] = {row[0]: row[1] for row in rows}
        status = _status(index, states, _work(work), full=any(row[2] for row in rows))
        return IndexState(status, None if short is None else short + sum(row[3] for row in rows))

    def stalled(self, project_id: int, *, silent_s: float) -> int:
        """Returns how many indexes of a project have strings that wait, and no worker at them."""
        [[stalled]] = self.tx.run(_STALLED, project=project_id, silent=silent_s)
        return int(stalled)

    def progress(self, index: Index, scope: str, *, silent_s: float) -> Progress:
        """Returns the counters of a scope."""
        return self.progress_of(index, [scope], silent_s=silent_s)[scope]

    def progress_of(
        self, index: Index, scopes: Sequence[str], *, silent_s: float
    ) -> dict[str, Progress]:
        """Returns the counters of several scopes, from one pass over the nodes."""
        condition = _behind(index)
        [row] = self.tx.run(
            f"SELECT {_WORK}, {condition}, {_SHORT}",
            index=index.id,
            project=index.project_id,
            generation=index.generation.id,
            table=index.table_id,
            silent=silent_s,
        )
        work, short = _work(row[:-1]), json.loads(row[-1] or "{}")
        return {
            scope: _progress(index, work, _count_nodes(self.tx, index, scope), short.get(scope))
            for scope in scopes
        }

    def has_any(self, index: Index, scope: str) -> bool:
        """Says whether the active generation has chunks in a scope, or may get some.

        Skipped nodes and blank ones (indexed without a chunk) do not count.
        """
        some = """
            AND (node.state NOT IN ('indexed', 'skipped') OR EXISTS (
                SELECT FROM chunk_set WHERE node_id = node.id AND chunks_count > 0))
        """
        return bool(self._listed(index, scope, 1, which=some))

    def in_scope(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        """Returns nodes of a scope, by pointer."""
        order = 'ORDER BY json_pointer COLLATE "C"'
        return self._listed(index, scope, limit, which=_BY_POINTER, order=order)

    def not_indexed(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        """Returns nodes of a scope that are not indexed; first those that nobody will take up."""
        which = f"AND node.state <> 'indexed' {_UNFINISHED_LAST.format(of='node')}"
        order = _UNFINISHED_LAST.format(of="listed")
        return self._listed(index, scope, limit, which=which, order=order)

    def _listed(
        self, index: Index, scope: str, limit: int, *, which: str, order: str = ""
    ) -> list[NodeProgress]:
        condition = "AND node.table_id = :table" if index.table_id is not None else ""
        if scope:
            condition = f"AND {_IN_SCOPE}"
        rows = self.tx.run(
            f"""
            WITH listed AS (
                SELECT node.* FROM node
                WHERE node.generation_id = :generation {condition} {which} LIMIT :limit)
            SELECT json_pointer, char_count, listed.state, chunks_count, last_error, attempt,
                   CASE listed.state WHEN 'queued' THEN next_at END
            FROM listed {_CURRENT_SET} {order}
            """,
            generation=index.generation.id,
            limit=limit,
            table=index.table_id,
            **range_of(scope) if scope else {},
        )
        return [
            NodeProgress(pointer, characters, state, chunks, _json(error), attempts, next_at)
            for pointer, characters, state, chunks, error, attempts, next_at in rows
        ]

    def count_parts(self) -> bool:
        """Has parts of indexes counted apart (decision 0063), a step at a time.

        Returns whether another step can follow at once. A part is entered first. The next
        transaction notes its own number: whoever writes and has not seen the part has a smaller
        one. When all of those have ended it is summed, one part a step. Nothing happens in a
        transaction that has written already.
        """
        if self.tx.run(_MAY_BEGIN) != [[True]]:
            return False
        seen = self.tx.run(_NOTE_SEEN)
        return bool(self.tx.run(_ENTER) or seen) or self._sum_one()

    def _sum_one(self) -> bool:
        due = self.tx.run(_ONE_DUE)
        for part_id, table_id, scope in due:
            bounds = range_of(scope)
            self.tx.run(
                "SELECT mend_part_tally(:part, :table, :first, :last)",
                part=part_id,
                table=table_id,
                first=bounds["first"],
                last=bounds["last"],
            )
            self.tx.run(
                "UPDATE counted_part SET is_summed = true, is_due = false WHERE id = :part",
                part=part_id,
            )
        return bool(due)

    def compact(self) -> None:
        """Keeps counting cheap.

        Adds up the rows of a namespace, a generation or a part, not those written meanwhile. Those
        of parts that are gone go.
        """
        self.tx.run(
            """
            WITH many AS (
                SELECT namespace FROM chunk_tally GROUP BY namespace HAVING count(*) > 1),
            gone AS (
                DELETE FROM chunk_tally WHERE namespace IN (SELECT namespace FROM many)
                RETURNING namespace, chunks, documents)
            INSERT INTO chunk_tally (namespace, chunks, documents)
            SELECT namespace, sum(chunks), sum(documents) FROM gone GROUP BY namespace
            """
        )
        self.tx.run(
            """
            WITH many AS (
                SELECT generation_id FROM node_tally GROUP BY generation_id HAVING count(*) > 1),
            gone AS (
                DELETE FROM node_tally WHERE generation_id IN (SELECT generation_id FROM many)
                RETURNING generation_id, nodes)
            INSERT INTO node_tally (generation_id, nodes)
            SELECT generation_id, sum(nodes) FROM gone GROUP BY generation_id
            """
        )
        self.tx.run(
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


@dataclass(frozen=True, slots=True)
class _Work:
    """How the work on an index goes, whatever the scope."""

    behind: bool
    stalled: bool
    order_error: dict[str, object] | None = None
    refused: list[dict[str, object]] = field(default_factory=list)


_AT_REST = _Work(behind=False, stalled=False)


def _behind(index: Index) -> str:
    return PROJECT_BEHIND if index.table_id is None else BEHIND


def _work(row: Sequence[Any]) -> _Work:
    stalled, order_error, refused, behind = row
    return _Work(behind, stalled, _json(order_error), json.loads(refused or "[]"))


def _status(index: Index, states: dict[NodeState, int], work: _Work, *, full: bool) -> IndexStatus:
    return index_status(
        states,
        behind=work.behind,
        stalled=work.stalled,
        full=full,
        rebuilding=index.is_rebuilding,
        evicted=index.evicted_at is not None,
        refused=bool(work.refused),
    )


def _progress(index: Index, work: _Work, counts: _Counts, short: int | None) -> Progress:
    states = dict(counts.states)
    return Progress(
        status=_status(index, states, work, full=counts.full),
        nodes_count=sum(states.values()),
        states=states,
        chunks_count=counts.chunks,
        indexed_chunks_count=counts.present,
        indexed_at=counts.indexed_at,
        next_attempt_at=counts.next_at,
        last_error=eviction_reason(index.evicted_at, index.evicted_by)
        or (work.refused[0] if work.refused else work.order_error)
        or counts.last_error,
        refused=work.refused,
        not_searched=None if short is None else short + given_up(states),
    )


def range_of(scope: str) -> dict[str, str]:
    """Returns parameters of ``_IN_SCOPE`` beside ``table``: the scope, and its range in the index.

    What follows a scope begins with ``/``, and ``0`` is the next character. A scope that is longer
    than what is in the index is found by its beginning.
    """
    first = scope[:_INDEXED_CHARS]
    last = f"{scope}0" if len(scope) < _INDEXED_CHARS else f"{first}\x01"
    return {"scope": scope, "first": first, "last": last}


@dataclass(frozen=True, slots=True)
class _Counts:
    """Sums over the nodes of a scope; see ``Progress``. ``full``: one waits for room."""

    states: Mapping[NodeState, int]
    full: bool
    chunks: int
    present: int
    indexed_at: datetime | None
    next_at: datetime | None
    last_error: dict[str, object] | None


def _count_nodes(tx: Transaction, index: Index, scope: str) -> _Counts:
    """Returns the sums of a scope.

    They cost what is under way, whatever there is: where all strings of the index lie in it, and
    where it is counted apart (``NodeCounts.count_parts``). Until then they cost the strings of the
    scope.
    """
    return _whole(tx, index) if _is_whole(tx, index, scope) else _part(tx, index, scope)


def _is_whole(tx: Transaction, index: Index, scope: str) -> bool:
    if scope == "":
        return True
    # A generation has the strings of the scopes that it was compared for, and no others.
    [[are_within]] = tx.run(
        """
        SELECT bool_and(COALESCE(held = :scope OR starts_with(held, :scope || '/'), false))
        FROM comparison LEFT JOIN LATERAL unnest(scopes) AS held ON true
        WHERE generation_id = :generation
        """,
        generation=index.generation.id,
        scope=scope,
    )
    return bool(are_within)


def _whole(tx: Transaction, index: Index) -> _Counts:
    [[moving, nodes, full, chunks, absent, *latest, error]] = tx.run(
        _WHOLE, generation=index.generation.id, namespace=index.generation.namespace
    )
    states: dict[NodeState, int] = json.loads(moving)
    if indexed := nodes - sum(states.values()):
        states["indexed"] = indexed
    indexed_at, next_at = latest
    last_error = json.loads(error) if error else None
    return _Counts(states, full, chunks, chunks - absent, indexed_at, next_at, last_error)


def _part(tx: Transaction, index: Index, scope: str) -> _Counts:
    rows = tx.run(_PART, generation=index.generation.id, table=index.table_id, **range_of(scope))
    errors = [json.loads(row[7]) for row in rows if row[7]]
    return _Counts(
        states={row[0]: row[1] for row in rows if row[1]},
        full=any(row[2] for row in rows),
        chunks=sum(row[3] for row in rows),
        present=sum(row[4] for row in rows),
        indexed_at=max((row[5] for row in rows if row[5]), default=None),
        next_at=min((row[6] for row in rows if row[6]), default=None),
        last_error=max(errors, key=_time_of, default=None),
    )


def _time_of(error: Mapping[str, object]) -> str:
    return str(error.get("at", ""))


def _json(text: str | None) -> dict[str, object] | None:
    return json.loads(text) if text else None
