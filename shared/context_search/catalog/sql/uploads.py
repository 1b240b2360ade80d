"""Uploads in Postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from context_search.catalog.rules.uploads import NewUpload, Upload
from context_search.postgres.pool import Transaction, json_text

_UPLOAD = """id, project_id, table_id, format, state, created_at, size, sha256, if_revision,
             bytes, revision, runs, last_error, from_revision, actor, request_id"""


@dataclass(frozen=True, slots=True)
class Uploads:
    """The rows."""

    DUE: ClassVar = """
        SELECT now() WHERE EXISTS (SELECT FROM upload WHERE state = 'importing')
    """
    tx: Transaction

    def add(self, new: NewUpload) -> Upload:
        """Creates one that is ``pending``, or ``importing`` where the document is a version."""
        [row] = self.tx.run(
            f"""
            INSERT INTO upload (project_id, table_id, format, size, sha256, if_revision,
                                from_revision, actor, request_id, state, bytes)
            VALUES (:project, :table, :format, :size, :sha256, :revision, :from, :actor, :request,
                    :state, :bytes) RETURNING {_UPLOAD}
            """,
            project=new.project_id,
            table=new.table_id,
            format=new.format,
            size=new.size,
            sha256=new.sha256,
            revision=new.if_revision,
            actor=new.actor,
            request=new.request_id,
            **_source(new),
        )
        return _upload(row)

    def pending(self, project_id: int, *, younger_than_s: float) -> int:
        """Returns how many of a project's uploads are ``pending`` and were made since then.

        Others who ask the same wait until the transaction ends, so that none is made uncounted.
        """
        self.tx.run(
            "SELECT pg_advisory_xact_lock(hashtextextended('context_search.uploads', :project))",
            project=project_id,
        )
        [[count]] = self.tx.run(
            """
            SELECT count(*) FROM upload WHERE project_id = :project AND state = 'pending'
                AND created_at > clock_timestamp() - make_interval(secs => :age)
            """,
            project=project_id,
            age=younger_than_s,
        )
        return int(count)

    def find(self, upload_id: int, *, table_id: int) -> Upload | None:
        """Returns an upload into that table."""
        rows = self.tx.run(
            f"SELECT {_UPLOAD} FROM upload WHERE id = :id AND table_id = :table",
            id=upload_id,
            table=table_id,
        )
        return _upload(rows[0]) if rows else None

    def lock(self, upload_id: int) -> Upload | None:
        """Returns an upload and keeps others from changing it until the transaction ends."""
        rows = self.tx.run(f"SELECT {_UPLOAD} FROM upload WHERE id = :id FOR UPDATE", id=upload_id)
        return _upload(rows[0]) if rows else None

    def save(self, upload: Upload) -> None:
        """Writes what may change: state, bytes, revision, runs, last_error; and that it lives."""
        self.tx.run(
            """
            UPDATE upload SET state = :state, bytes = :bytes, revision = :revision, runs = :runs,
                last_error = CAST(:error AS jsonb), saved_at = clock_timestamp()
            WHERE id = :id
            """,
            id=upload.id,
            state=upload.state,
            bytes=upload.bytes,
            revision=upload.revision,
            runs=upload.runs,
            error=None if upload.last_error is None else json_text(dict(upload.last_error)),
        )

    def silent(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns uploads that are being imported, but were not saved for that long.

        Each is returned once in that time.
        """
        rows = self.tx.run(
            """
            WITH found AS (
                SELECT id FROM upload WHERE state = 'importing'
                    AND saved_at < clock_timestamp() - make_interval(secs => :silent)
                ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED)
            UPDATE upload SET saved_at = clock_timestamp()
            FROM found WHERE upload.id = found.id RETURNING upload.id
            """,
            silent=silent_s,
            limit=limit,
        )
        return sorted(row[0] for row in rows)

    def outdated(self, *, older_than_s: float, limit: int) -> list[Upload]:
        """Returns uploads that were made that long ago, or whose table is gone."""
        rows = self.tx.run(
            f"""
            SELECT {_UPLOAD} FROM upload
            WHERE created_at < clock_timestamp() - make_interval(secs => :age)
               OR table_id IS NULL
            ORDER BY id LIMIT :limit
            """,
            age=older_than_s,
            limit=limit,
        )
        return [_upload(row) for row in rows]

    def delete_expired(self, upload_ids: Sequence[int]) -> None:
        """Deletes rows."""
        self.tx.run(
            "DELETE FROM upload WHERE id = ANY(CAST(:ids AS bigint[]))", ids=list(upload_ids)
        )


def _upload(row: Sequence[Any]) -> Upload:
    *values, last_error, from_revision, actor, request_id = row
    reported = None if last_error is None else json.loads(last_error)
    return Upload(*[*values, reported, from_revision, actor, request_id])


def _source(new: NewUpload) -> dict[str, object]:
    if new.from_revision is None:
        return {"from": None, "state": "pending", "bytes": None}
    return {"from": new.from_revision, "state": "importing", "bytes": new.size}
