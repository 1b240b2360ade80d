"""Versions of tables in Postgres: what is recorded, read, labelled and erased."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from context_search.catalog.rules.versions import (
    MAX_LABELS,
    Content,
    Gap,
    HistoryLimits,
    Overwritten,
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


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of tables. A ``Table`` is one that was found for its project.

    The store adds a version for every revision, whoever writes it; what is overwritten through us
    is recorded here. Pieces are shared between the versions of one history, and nothing else.
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

        Who has changed the document in this transaction keeps ``Histories.prune`` from collecting
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

        The versions stay, as gaps; ``Histories.prune`` deletes the pieces.
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
