"""How far an index is, in Postgres: at the cost of what is under way, not of what there is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from context_search.adapters.postgres.pool import Transaction
from context_search.domain.model import Index
from context_search.domain.progress import NodeState

INDEXED_CHARS = 200
"""Characters of a pointer that are in an index; pointers are too long for one."""
POINTER = f'left(node.json_pointer, {INDEXED_CHARS}) COLLATE "C"'
_IN_SCOPE = f"""
    {POINTER} >= CAST(:first AS text) AND {POINTER} < CAST(:last AS text)
    AND (node.json_pointer = :scope OR starts_with(node.json_pointer, :scope || '/'))
"""

_FULL = "node.state = 'skipped' AND last_error ->> 'code' = 'PROJECT_FULL'"
# The set that answers, or while there is none the one that is being built.
_IS_CURRENT = "(state = 'active' OR state = 'building' AND active_set_id IS NULL)"
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
        EXISTS (SELECT FROM node WHERE generation_id = :generation AND {_FULL}),
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
# Sets by the number that the node has: looked for node by node they were most of the work.
_PART = f"""
    WITH counted AS (
        SELECT node.id, node.state, last_error, indexed_at, next_at, chunks_count, present_count
        FROM node LEFT JOIN chunk_set ON chunk_set.id = active_set_id
        WHERE generation_id = :generation AND active_set_id IS NOT NULL AND {{0}}
        UNION ALL
        SELECT node.id, node.state, last_error, indexed_at, next_at, chunks_count, present_count
        FROM node LEFT JOIN chunk_set ON chunk_set.node_id = node.id
                                     AND chunk_set.state = 'building'
        WHERE generation_id = :generation AND active_set_id IS NULL AND {{0}})
    SELECT state, count(*), bool_or({_FULL}), CAST(COALESCE(sum(chunks_count), 0) AS bigint),
           CAST(COALESCE(sum(present_count), 0) AS bigint), max(indexed_at),
           min(next_at) FILTER (WHERE state = 'queued'),
           (array_agg(last_error ORDER BY last_error ->> 'at' DESC NULLS LAST, id DESC)
            FILTER (WHERE last_error IS NOT NULL))[1]
    FROM counted AS node GROUP BY state
"""


def in_scope(scope: str) -> tuple[str, dict[str, object]]:
    """Returns the condition that a node lies in a scope, and its parameters.

    The range is what an index finds. What follows a scope begins with ``/``, and ``0`` is the next
    character. A scope that is longer than what is in the index is found by its beginning.
    """
    if scope == "":
        return "true", {}
    first = scope[:INDEXED_CHARS]
    last = f"{scope}0" if len(scope) < INDEXED_CHARS else f"{first}\x01"
    return _IN_SCOPE, {"scope": scope, "first": first, "last": last}


@dataclass(frozen=True, slots=True)
class Counts:
    """Sums over the nodes of a scope; see ``Progress``. ``full``: one waits for room."""

    states: Mapping[NodeState, int]
    full: bool
    chunks: int
    present: int
    indexed_at: datetime | None
    next_at: datetime | None
    last_error: dict[str, object] | None


def count_nodes(tx: Transaction, index: Index, scope: str) -> Counts:
    """Returns the sums of a scope.

    Where all strings of the index lie in it, they cost what is under way, whatever there is; else
    they cost the strings of the scope.
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


def _whole(tx: Transaction, index: Index) -> Counts:
    [[moving, nodes, full, chunks, absent, *latest, error]] = tx.run(
        _WHOLE, generation=index.generation.id, namespace=index.generation.namespace
    )
    states: dict[NodeState, int] = json.loads(moving)
    if indexed := nodes - sum(states.values()):
        states["indexed"] = indexed
    indexed_at, next_at = latest
    last_error = json.loads(error) if error else None
    return Counts(states, full, chunks, chunks - absent, indexed_at, next_at, last_error)


def _part(tx: Transaction, index: Index, scope: str) -> Counts:
    condition, values = in_scope(scope)
    rows = tx.run(_PART.format(condition), generation=index.generation.id, **values)
    errors = [json.loads(row[7]) for row in rows if row[7]]
    return Counts(
        states={row[0]: row[1] for row in rows},
        full=any(row[2] for row in rows),
        chunks=sum(row[3] for row in rows),
        present=sum(row[4] for row in rows),
        indexed_at=max((row[5] for row in rows if row[5]), default=None),
        next_at=min((row[6] for row in rows if row[6]), default=None),
        last_error=max(errors, key=_time_of, default=None),
    )


def _time_of(error: Mapping[str, object]) -> str:
    return str(error.get("at", ""))
