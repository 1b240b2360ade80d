"""How projects and the deployment are, in Postgres, and when cleanup worked and has work."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from context_search.maintenance.rules.health import (
    CleanupLimits,
    CleanupRun,
    ErrorCount,
    ProjectReadings,
    Readings,
)
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import IS_DUE

MOST_MESSAGES = 1_000
"""Messages are counted no further than this."""
MOST_REPORTS = 100
MOST_ERRORS = 20
POLICIES_BIND = "row_security_active('context_search.node')"
"""Not the owner of the tables, and no role with BYPASSRLS."""
_LIVE = """
    SELECT generation.id, generation.state, generation.namespace, generation.integrity
    FROM search_index JOIN index_generation AS generation ON generation.index_id = search_index.id
    WHERE search_index.project_id = :project AND generation.state IN ('active', 'building')
"""
# Of what is indexed only tallies are read; the rest is in an index of what is not.
_OF_PROJECT = f"""
    WITH live AS MATERIALIZED ({_LIVE}),
    answering AS MATERIALIZED (SELECT id FROM live WHERE state = 'active'),
    moving AS MATERIALIZED (
        SELECT node.state, count(*) AS nodes,
               min(next_at) FILTER (WHERE node.state = 'queued'
                                    AND next_at <= statement_timestamp()) AS since
        FROM answering JOIN node ON node.generation_id = answering.id
        WHERE node.state <> 'indexed' GROUP BY node.state),
    failed (code, at) AS (
        SELECT last_error ->> 'code', last_error ->> 'at'
        FROM live JOIN node ON node.generation_id = live.id
        WHERE node.state <> 'indexed' AND last_error IS NOT NULL
        UNION ALL
        SELECT refused ->> 'code', refused ->> 'at'
        FROM live JOIN comparison ON comparison.generation_id = live.id WHERE refused IS NOT NULL
        UNION ALL
        SELECT order_error ->> 'code', order_error ->> 'at'
        FROM search_index WHERE search_index.project_id = :project AND order_error IS NOT NULL)
    SELECT
        (SELECT COALESCE(json_object_agg(state, nodes), '{{}}') FROM moving),
        (SELECT CAST(COALESCE(sum(nodes), 0) AS bigint)
         FROM answering JOIN node_tally ON node_tally.generation_id = answering.id),
        (SELECT CAST(COALESCE(extract(epoch FROM statement_timestamp() - min(since)), 0) AS float8)
         FROM moving),
        (SELECT count(*) FROM (
             SELECT FROM outbox WHERE project_id = :project AND sent_at IS NULL
             LIMIT {MOST_MESSAGES}) AS waiting),
        CAST(COALESCE((
            SELECT extract(epoch FROM statement_timestamp() - GREATEST(created_at, due_at))
            FROM outbox WHERE project_id = :project AND sent_at IS NULL AND {IS_DUE}
            ORDER BY id LIMIT 1), 0) AS float8),
        (SELECT count(*) FROM search_index
         WHERE search_index.project_id = :project AND evicted_at IS NULL),
        (SELECT count(*) FROM live WHERE state = 'building'),
        (SELECT count(*) FROM search_index
         WHERE search_index.project_id = :project AND evicted_at IS NOT NULL),
        (SELECT COALESCE(json_agg(integrity || jsonb_build_object('namespace', namespace)
                                  ORDER BY integrity ->> 'at', id), '[]')
         FROM (SELECT * FROM live WHERE integrity IS NOT NULL
               ORDER BY integrity ->> 'at', id LIMIT {MOST_REPORTS}) AS compared),
        (SELECT COALESCE(json_agg(json_build_array(code, count, at)
                                  ORDER BY count DESC, code), '[]')
         FROM (SELECT COALESCE(code, 'INTERNAL') AS code, count(*) AS count, max(at) AS at
               FROM failed GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MOST_ERRORS}) AS counted),
        {POLICIES_BIND}
"""
_REFUSED = "SELECT claimed_at AS since FROM outbox WHERE sent_at IS NULL"
# Whose turn it is in a project that has nothing in the queue, and of which nobody took anything.
_UNTAKEN = f"""
    SELECT GREATEST(created_at, due_at) FROM (
        SELECT DISTINCT ON (project_id) project_id, created_at, due_at FROM outbox
        WHERE sent_at IS NULL AND {IS_DUE} ORDER BY project_id, id) AS first
    WHERE NOT EXISTS (
        SELECT FROM outbox WHERE outbox.project_id = first.project_id
        AND CASE WHEN sent_at IS NULL THEN claimed_at IS NOT NULL ELSE {IS_DUE} END)
"""


@dataclass(frozen=True, slots=True)
class Health:
    """How the deployment is. A reading costs what is under way, not what there is.

    No statement reads chunks, or nodes that are indexed: all are cheap enough for every minute.
    """

    tx: Transaction

    def of_project(self, project_id: int) -> ProjectReadings:
        """Returns the present readings of a project."""
        [row] = self.tx.run(_OF_PROJECT, project=project_id)
        moving, whole, wait_s, messages, message_s, *row = row
        indexes, building, evicted, reports, errors, row_security = row
        nodes = json.loads(moving)
        if indexed := whole - sum(nodes.values()):
            nodes["indexed"] = indexed
        return ProjectReadings(
            nodes=nodes,
            oldest_wait_s=max(0.0, wait_s),
            messages=messages,
            oldest_message_s=max(0.0, message_s),
            indexes=indexes,
            building=building,
            evicted=evicted,
            integrity=json.loads(reports),
            errors=[ErrorCount(*each) for each in json.loads(errors)],
            row_security=row_security,
        )

    def readings(self) -> Readings:
        """Returns the present readings, over all projects."""
        [row] = self.tx.run(
            f"""
            SELECT (SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM generation_usage
                    WHERE state = 'active'),
                   (SELECT count(*) FROM node WHERE state = 'quarantined'),
                   (SELECT count(*) FROM search_index WHERE evicted_at IS NOT NULL),
                   (SELECT CAST(COALESCE(extract(epoch FROM clock_timestamp() - min(since)), 0)
                                AS float8) FROM ({_REFUSED} UNION ALL {_UNTAKEN}) AS waiting),
                   {POLICIES_BIND}
            """
        )
        return Readings(*row)

    def note_cleanup(self, run: CleanupRun) -> None:
        """Puts a run in the place of the one before."""
        self.tx.run(
            """
            INSERT INTO cleanup_run (finished_at, seconds, is_complete, errors, rests_until)
            VALUES (:at, :seconds, :complete, CAST(:errors AS text[]),
                    CAST(:rests_until AS timestamptz))
            ON CONFLICT (id) DO UPDATE SET
                finished_at = excluded.finished_at, seconds = excluded.seconds,
                is_complete = excluded.is_complete, errors = excluded.errors,
                rests_until = excluded.rests_until
            """,
            at=run.finished_at,
            seconds=run.seconds,
            complete=run.is_complete,
            errors=list(run.errors),
            rests_until=run.rests_until,
        )

    def last_cleanup(self) -> CleanupRun | None:
        """Returns the last run; None before the first."""
        rows = self.tx.run(
            "SELECT finished_at, seconds, is_complete, errors, rests_until FROM cleanup_run"
        )
        return CleanupRun(*rows[0]) if rows else None

    def due_in_s(self, repositories: Iterable[Any], limits: CleanupLimits) -> float | None:
        """Returns in how many seconds a repository has work; None: nothing that is known.

        0 or less: now, or whenever work that is under way ends. ``repositories`` are those of the
        transaction. Each says when it has work beside the statements that find it: ``DUE`` in SQL,
        ``due_at`` in memory.
        """
        due = " UNION ALL ".join(f"({each.DUE})" for each in repositories)
        [[seconds]] = self.tx.run(
            "SELECT CAST(extract(epoch FROM min(due_at) - now()) AS float8)"
            f" FROM ({due}) AS due (due_at)",
            silent=limits.silent_s,
            grace=limits.grace_s,
            keep=limits.keep_previous_s,
            chunks=limits.project.max_chunks,
            bytes=limits.project.max_vector_bytes,
        )
        return None if seconds is None else float(seconds)
