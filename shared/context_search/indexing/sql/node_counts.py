"""How far nodes are, in Postgres."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """Counts of nodes, by state and scope. ``silent_s`` is for how long silence is fine."""

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
    where it is counted apart (``Quotas.count_parts``). Until then they cost the strings of the
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
