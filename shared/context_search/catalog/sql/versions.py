"""Versions of tables in Postgres: what is recorded, read, labelled, erased and pruned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from context_search.catalog.rules.versions import (
    MAX_LABELS,
    Content,
    Gap,
    HistoryLimits,
    Overwritten,
    Pruned,
    TableHistory,
    Version,
)
from context_search.core.errors import NotFoundError
from context_search.core.model import Table
from context_search.postgres.json_text import MAX_NUMBERS_BYTES, NUMBERS_OF_DATA
from context_search.postgres.pool import BATCH_BYTES, Transaction
from context_search.postgres.visible_rows import TABLE_IS_THERE, TABLE_OF_CALLER

_OF = "table_version.table_id = :table AND table_version.project_id = :project"
_VERSION = """
    revision, revision = :live, cause, actor, request_id, plan_id, label, bytes, sha256, gap,
    created_at, overwritten_at
"""
_LOCK = """
    INSERT INTO table_history (table_id, project_id) VALUES (:table, :project)
    ON CONFLICT (table_id, project_id) DO UPDATE SET due_at = now()
"""

_ADDED = """
    WITH added AS (
        INSERT INTO version_piece (project_id, table_id, sha256, content)
        SELECT :project, :table, name, content
        FROM unnest(CAST(:names AS bytea[]), CAST(:contents AS bytea[])) AS piece (name, content)
        ON CONFLICT DO NOTHING RETURNING octet_length(content) AS bytes),
    counted AS (
        UPDATE table_history SET due_at = now(),
            bytes = table_history.bytes + (SELECT COALESCE(sum(bytes), 0) FROM added)
        WHERE table_id = :table AND project_id = :project)
"""
_EXPIRED_AT_ONCE = 1_000
_USUAL = HistoryLimits()
# What a plan replaced that can still be undone, or has not ended; an undo may fail until it has.
_IS_NEEDED = """
    EXISTS (
        SELECT FROM replace_table JOIN replace_plan AS plan ON plan.id = plan_id
        WHERE replace_table.table_id = table_version.table_id
          AND revision_before = table_version.revision AND replace_table.state = 'done'
          AND plan.project_id = table_version.project_id
          AND (plan.state = 'executing' OR undo_until > clock_timestamp())
          AND NOT EXISTS (
            SELECT FROM replace_plan AS undo WHERE undo.undoes = plan.id
              AND undo.state IN ('done', 'partial')))
"""
_MAY_LEAVE = f"sha256 IS NOT NULL AND label IS NULL AND NOT {_IS_NEEDED}"
_WITH_SETTINGS = """
    LEFT JOIN project_settings
        ON project_settings.project_id = table_history.project_id AND kind = 'history'
"""
_MAX_BYTES = "COALESCE(CAST(settings ->> 'max_bytes' AS bigint), :usual)"


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of tables. A ``Table`` is one that was found for its project.

    The store adds a version for every revision, whoever writes it; what is overwritten through us
    is recorded here. Pieces are shared between the versions of one history, and nothing else.
    """

    DUE: ClassVar = """
        SELECT now() WHERE EXISTS (SELECT FROM table_history WHERE due_at <= now())
    """
    tx: Transaction

    def overwritten(self, table_id: int, *, project_id: int, max_bytes: int) -> Overwritten:
        """Returns the document, and keeps others from changing it until the transaction ends.

        Its text if that has at most ``max_bytes`` bytes and history is on.
        Raises NotFoundError where ``Tables.find`` finds none.
        """
        # Of a document that is large even when compressed nothing is written out in vain. First
        # the lock: who waited for it must not see the document as it was before. OFFSET 0: the
        # text is written out once, and not to disk as that of a CTE.
        rows = self.tx.run(
            f"""
            WITH locked AS MATERIALIZED (
                SELECT revision, data FROM context_table
                WHERE id = :table AND project_id = :project AND {TABLE_IS_THERE} FOR UPDATE)
            SELECT revision, kept.settings,
                (SELECT CAST(COALESCE(sum(bytes), 0) AS bigint) FROM table_history
                 WHERE project_id = :project),
                CASE WHEN data IS NULL THEN 'null'
                    WHEN octet_length(written.text) <= :most THEN written.text END
            FROM locked,
                LATERAL (
                    SELECT COALESCE((SELECT project_settings.settings FROM project_settings
                                     WHERE project_id = :project AND kind = 'history'),
                                    '{{}}') AS settings
                    OFFSET 0) AS kept,
                LATERAL (
                    SELECT CASE WHEN pg_column_size(data) <= :most
                        AND kept.settings ->> 'keep_count' IS DISTINCT FROM '0'
                        AND {NUMBERS_OF_DATA} <= {MAX_NUMBERS_BYTES}
                    THEN CAST(data AS text) END AS text
                    OFFSET 0) AS written
            """,
            table=table_id,
            project=project_id,
            most=max_bytes,
        )
        if not rows:
            raise NotFoundError("there is no such table")
        [[revision, settings, used, text]] = rows
        kept = HistoryLimits.from_mapping(json.loads(settings))
        return Overwritten(revision, text, kept, used)

    def missing(self, table: Table, pieces: Sequence[bytes]) -> set[bytes]:
        """Returns those hashes of which the history has no piece yet.

        Who has changed the document in this transaction keeps ``Versions.prune`` from collecting
        pieces until it ends.
        """
        rows = self._run(
            """
            SELECT name FROM unnest(CAST(:pieces AS bytea[])) AS wanted (name)
            WHERE NOT EXISTS (
                SELECT FROM version_piece
                WHERE table_id = :table AND project_id = :project AND sha256 = wanted.name)
            """,
            table,
            pieces=list(pieces),
        )
        return {name for [name] in rows}

    def record(
        self, table: Table, revision: int, content: Content, new: Iterable[tuple[bytes, bytes]]
    ) -> None:
        """Notes the content of a revision that was overwritten in this transaction.

        ``new`` are the hash and the stored form of each piece that may be missing; those that are
        there stay as they are.
        """
        *batches, last = _batches(new)
        for batch in batches:
            self._run(f"{_ADDED} SELECT", table, **_columns(batch))
        self._run(
            f"""
            {_ADDED}
            INSERT INTO table_version (
                project_id, table_id, revision, bytes, sha256, pieces, overwritten_at)
            VALUES (:project, :table, :revision, :bytes, :sha256, CAST(:pieces AS bytea[]),
                    clock_timestamp())
            ON CONFLICT (table_id, project_id, revision) DO UPDATE SET
                bytes = excluded.bytes, sha256 = excluded.sha256, pieces = excluded.pieces,
                overwritten_at = excluded.overwritten_at, gap = NULL
            """,
            table,
            revision=revision,
            bytes=content.size,
            sha256=content.sha256,
            pieces=list(content.pieces),
            **_columns(last),
        )

    def note_gap(self, table: Table, revision: int, gap: Gap) -> None:
        """Notes why a revision that is being overwritten is not recorded."""
        self._run(
            """
            INSERT INTO table_version (project_id, table_id, revision, gap, overwritten_at)
            VALUES (:project, :table, :revision, :gap, clock_timestamp())
            ON CONFLICT (table_id, project_id, revision) DO UPDATE SET
                gap = excluded.gap, overwritten_at = excluded.overwritten_at
            """,
            table,
            revision=revision,
            gap=gap,
        )

    def page(self, table: Table, *, below: int | None, limit: int) -> list[Version]:
        """Returns versions with revisions below that one, the newest first."""
        rows = self._run(
            f"""
            SELECT {_VERSION} FROM table_version
            WHERE {_OF} AND (CAST(:below AS bigint) IS NULL OR revision < :below)
            ORDER BY revision DESC LIMIT :limit
            """,
            table,
            live=table.revision,
            below=below,
            limit=limit,
        )
        return [Version(*row) for row in rows]

    def find(self, table: Table, revision: int) -> Version | None:
        """Returns a version."""
        rows = self._run(
            f"SELECT {_VERSION} FROM table_version WHERE {_OF} AND revision = :revision",
            table,
            live=table.revision,
            revision=revision,
        )
        return Version(*rows[0]) if rows else None

    def pieces(self, table: Table, revision: int, *, first: int, count: int) -> list[bytes]:
        """Returns pieces of a recorded version as they are stored, from number ``first`` on."""
        rows = self._run(
            f"""
            SELECT content FROM table_version
            CROSS JOIN unnest(pieces) WITH ORDINALITY AS named (name, place)
            JOIN version_piece AS piece
                ON piece.table_id = :table AND piece.project_id = :project
                AND piece.sha256 = named.name
            WHERE {_OF} AND revision = :revision AND place > :first AND place <= :last
            ORDER BY place
            """,
            table,
            revision=revision,
            first=first,
            last=first + count,
        )
        return [content for [content] in rows]

    def label(self, table: Table, revision: int, label: str | None) -> bool:
        """Gives a version a label, or takes it; adds the version of a revision that has none.

        False when as many others of the table have one as may. Those who label one table take
        turns.
        """
        self._run(_LOCK, table)
        rows = self._run(
            f"""
            INSERT INTO table_version (project_id, table_id, revision, label)
            SELECT :project, :table, :revision, CAST(:label AS text)
            WHERE CAST(:label AS text) IS NULL OR :most > (
                SELECT count(*) FROM table_version
                WHERE {_OF} AND label IS NOT NULL AND revision <> :revision)
            ON CONFLICT (table_id, project_id, revision) DO UPDATE SET label = excluded.label
            RETURNING 1
            """,
            table,
            revision=revision,
            label=label,
            most=MAX_LABELS,
        )
        return bool(rows)

    def erase(self, table: Table, revision: int | None = None) -> None:
        """Forgets content and label of a version that is not live; None: of all of them.

        The versions stay, as gaps; ``Versions.prune`` deletes the pieces.
        """
        # Behind the lock, which whoever records takes: another revision may be the live one by now.
        self._run(_LOCK, table)
        self._run(
            f"""
            UPDATE table_version SET label = NULL, bytes = NULL, sha256 = NULL, pieces = NULL,
                gap = 'erased'
            WHERE {_OF} AND sha256 IS NOT NULL
              AND revision <> (
                  SELECT revision FROM context_table WHERE id = :table AND {TABLE_OF_CALLER})
              AND (CAST(:revision AS bigint) IS NULL OR revision = :revision)
            """,
            table,
            revision=revision,
        )

    def _run(self, sql: str, table: Table, **parameters: object) -> list[list[Any]]:
        return self.tx.run(sql, table=table.id, project=table.project_id, **parameters)

    def over_limit(self, *, limit: int) -> list[int]:
        """Returns projects whose pieces take more bytes than they may: first the most too many.

        Only those of which a version may leave: others would stand before these for ever.
        """
        rows = self.tx.run(
            f"""
            SELECT table_history.project_id FROM table_history
            {_WITH_SETTINGS}
            GROUP BY table_history.project_id, settings
            HAVING sum(bytes) > {_MAX_BYTES} AND EXISTS (
                SELECT FROM table_version
                WHERE table_version.project_id = table_history.project_id AND {_MAY_LEAVE})
            ORDER BY sum(bytes) - {_MAX_BYTES} DESC, table_history.project_id LIMIT :limit
            """,
            usual=_USUAL.max_bytes,
            limit=limit,
        )
        return [project_id for [project_id] in rows]

    def expire_oldest(self, project_id: int) -> int:
        """Deletes the versions of a project that were overwritten first, but no labelled ones.

        Nor what a plan replaced that can still be undone.

        As many as hold the bytes that are too many, at most 1,000; returns how many.
        """
        # Together they hold at least what is too much: pieces take no more bytes than their text.
        # Histories in the order in which plans write documents, who would wait for each other else.
        rows = self.tx.run(
            f"""
            WITH too_many AS (
                SELECT sum(bytes) - {_MAX_BYTES} AS bytes FROM table_history
                {_WITH_SETTINGS}
                WHERE table_history.project_id = :project GROUP BY settings),
            oldest AS (
                SELECT id, bytes, sum(bytes) OVER (ORDER BY overwritten_at, id) AS total FROM (
                    SELECT id, bytes, overwritten_at FROM table_version
                    WHERE project_id = :project AND {_MAY_LEAVE}
                    ORDER BY overwritten_at, id LIMIT :limit) AS first),
            gone AS (
                DELETE FROM table_version WHERE id IN (
                    SELECT oldest.id FROM oldest, too_many
                    WHERE total - oldest.bytes < too_many.bytes)
                RETURNING table_id),
            due AS (
                UPDATE table_history SET due_at = now() FROM (
                    SELECT table_id FROM table_history
                    WHERE project_id = :project AND table_id IN (SELECT table_id FROM gone)
                    ORDER BY table_id FOR UPDATE) AS locked
                WHERE project_id = :project AND table_history.table_id = locked.table_id)
            SELECT count(*) FROM gone
            """,
            project=project_id,
            usual=_USUAL.max_bytes,
            limit=_EXPIRED_AT_ONCE,
        )
        return int(rows[0][0])

    def due(self, *, limit: int) -> list[TableHistory]:
        """Returns histories of which something may have to leave; of deleted tables everything."""
        rows = self.tx.run(
            """
            (SELECT table_id, project_id FROM table_history
             WHERE due_at <= statement_timestamp() ORDER BY due_at LIMIT :limit)
            UNION
            (SELECT table_id, project_id FROM table_history WHERE EXISTS (
                SELECT FROM context_table WHERE context_table.id = table_history.table_id
                    AND context_table.context_search_remove_at IS NOT NULL)
             LIMIT :limit)
            """,
            limit=limit,
        )
        return [TableHistory(*row) for row in rows]

    def look_at_all(self, project_id: int) -> None:
        """Makes every history of a project due."""
        # In the order in which plans write documents: they would wait for each other else.
        self.tx.run(
            """
            UPDATE table_history SET due_at = now() FROM (
                SELECT table_id FROM table_history WHERE project_id = :project
                ORDER BY table_id FOR UPDATE) AS locked
            WHERE project_id = :project AND table_history.table_id = locked.table_id
            """,
            project=project_id,
        )

    def prune(self, history: TableHistory, *, limit: int) -> Pruned:
        """Deletes versions that are too old or too many, at most ``limit``, then unused pieces.

        What a plan replaced that can still be undone is never too many.
        Does nothing while somebody records into the history.
        """
        rows = self.tx.run(
            """
            SELECT (SELECT settings FROM project_settings
                    WHERE project_id = :project AND kind = 'history'),
                   context_table.revision, context_table.context_search_remove_at IS NOT NULL
            FROM table_history JOIN context_table ON context_table.id = table_history.table_id
            WHERE table_history.table_id = :table AND table_history.project_id = :project
            FOR UPDATE OF table_history SKIP LOCKED
            """,
            table=history.table_id,
            project=history.project_id,
        )
        if not rows:
            return Pruned()
        [[stored, live, is_deleted]] = rows
        settings = HistoryLimits.from_mapping(json.loads(stored or "{}"))
        is_gone = is_deleted or settings.is_off
        versions = self._expire(history, settings, live, limit, is_gone=is_gone)
        pieces, freed = self._collect(history, limit)
        is_done = versions < limit and pieces < limit
        self._look_again(history, settings, live, freed, is_done=is_done)
        return Pruned(versions, pieces, is_done)

    def _expire(
        self,
        history: TableHistory,
        settings: HistoryLimits,
        live: int,
        limit: int,
        *,
        is_gone: bool,
    ) -> int:
        return self.tx.execute(
            f"""
            DELETE FROM table_version WHERE id IN (
                SELECT id FROM (
                    SELECT id, {_IS_NEEDED} AS is_needed,
                        COALESCE(overwritten_at, created_at, '-infinity') AS since,
                        row_number() OVER (PARTITION BY sha256 IS NULL ORDER BY revision DESC)
                            AS place
                    FROM table_version
                    WHERE table_id = :table AND project_id = :project
                      AND (CAST(:all AS boolean) OR label IS NULL AND revision <> :live)) AS past
                WHERE CAST(:all AS boolean) OR place > :count AND NOT is_needed
                   OR since < clock_timestamp() - make_interval(days => :days)
                LIMIT :limit)
            """,
            table=history.table_id,
            project=history.project_id,
            all=is_gone,
            live=live,
            count=settings.keep_count,
            days=settings.keep_days,
            limit=limit,
        )

    def _collect(self, history: TableHistory, limit: int) -> tuple[int, int]:
        """Deletes pieces that no version names; whoever could name one waits for the lock.

        Returns how many, and their bytes.
        """
        [[count, freed]] = self.tx.run(
            """
            WITH gone AS (
                DELETE FROM version_piece
                WHERE table_id = :table AND project_id = :project AND sha256 IN (
                    SELECT sha256 FROM version_piece
                    WHERE table_id = :table AND project_id = :project
                    EXCEPT
                    SELECT unnest(pieces) FROM table_version
                    WHERE table_id = :table AND project_id = :project
                    LIMIT :limit)
                RETURNING octet_length(content) AS bytes)
            SELECT count(*), CAST(COALESCE(sum(bytes), 0) AS bigint) FROM gone
            """,
            table=history.table_id,
            project=history.project_id,
            limit=limit,
        )
        return int(count), int(freed)

    def _look_again(
        self,
        history: TableHistory,
        settings: HistoryLimits,
        live: int,
        freed: int,
        *,
        is_done: bool,
    ) -> None:
        """When the next version is too old; what is recorded until then says so itself."""
        # The only change of the row here: at a second one Postgres checks its foreign key, and
        # waits for whoever writes the table, while he waits for the row.
        self.tx.run(
            """
            UPDATE table_history SET bytes = table_history.bytes - :freed,
                due_at = CASE WHEN NOT :done THEN now() ELSE COALESCE(
                (SELECT min(COALESCE(overwritten_at, created_at)) FROM table_version
                 WHERE table_id = :table AND project_id = :project AND label IS NULL
                   AND revision <> :live) + make_interval(days => :days),
                'infinity') END
            WHERE table_id = :table AND project_id = :project
            """,
            table=history.table_id,
            project=history.project_id,
            live=live,
            freed=freed,
            days=settings.keep_days,
            done=is_done,
        )


def _batches(pieces: Iterable[tuple[bytes, bytes]]) -> Iterator[Sequence[tuple[bytes, bytes]]]:
    """The last one may be empty."""
    batch: list[tuple[bytes, bytes]] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece[1])
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def _columns(batch: Sequence[tuple[bytes, bytes]]) -> dict[str, object]:
    return {"names": [name for name, _ in batch], "contents": [content for _, content in batch]}
