"""Uploads in memory: rows, and an S3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from context_search.catalog.rules.uploads import NewUpload, Upload
from context_search.catalog.sql.uploads import Uploads
from context_search.core.errors import UploadMissingError
from context_search.integrations.ports import SignedPut
from context_search.maintenance.rules.health import CleanupLimits
from testing.in_memory.model import Model, Times
from testing.in_memory.rows import UploadRow

PIECE = 65_536


class MemoryUploads(Model, Uploads):
    """``Uploads`` over rows in memory."""

    def due_at(self, _: CleanupLimits) -> Times:
        """At once while one is imported."""
        for row in self.rows.uploads.values():
            if row.upload.state == "importing":
                yield self.clock.now()

    def add(self, new: NewUpload) -> Upload:
        now = self.clock.now()
        upload = Upload(
            id=self.rows.new_id(),
            project_id=new.project_id,
            table_id=new.table_id,
            format=new.format,
            state="pending" if new.from_revision is None else "importing",
            created_at=now,
            size=new.size,
            sha256=new.sha256,
            if_revision=new.if_revision,
            bytes=None if new.from_revision is None else new.size,
            from_revision=new.from_revision,
            actor=new.actor,
            request_id=new.request_id,
        )
        self.rows.uploads[upload.id] = UploadRow(upload, now)
        return upload

    def pending(self, project_id: int, *, younger_than_s: float) -> int:
        """A transaction is alone anyway."""
        after = self.clock.now() - timedelta(seconds=younger_than_s)
        uploads = [row.upload for row in self.rows.uploads.values()]
        return sum(
            (u.project_id, u.state) == (project_id, "pending") and u.created_at > after
            for u in uploads
        )

    def find(self, upload_id: int, *, table_id: int) -> Upload | None:
        found = self.lock(upload_id)
        return found if found and found.table_id == table_id else None

    def lock(self, upload_id: int) -> Upload | None:
        """A transaction is alone anyway."""
        row = self.rows.uploads.get(upload_id)
        return None if row is None else self._now(row.upload)

    def _now(self, upload: Upload) -> Upload:
        """A table that is gone leaves no id behind, as the foreign key has it in Postgres."""
        return upload if upload.table_id in self.rows.tables else replace(upload, table_id=None)

    def save(self, upload: Upload) -> None:
        if upload.id in self.rows.uploads:
            self.rows.uploads[upload.id] = UploadRow(upload, self.clock.now())

    def silent(self, *, silent_s: float, limit: int) -> list[int]:
        before = self.clock.now() - timedelta(seconds=silent_s)
        found = [
            row.upload
            for _, row in sorted(self.rows.uploads.items())
            if row.upload.state == "importing" and row.saved_at < before
        ][:limit]
        for upload in found:
            self.save(upload)
        return [upload.id for upload in found]

    def outdated(self, *, older_than_s: float, limit: int) -> list[Upload]:
        before = self.clock.now() - timedelta(seconds=older_than_s)
        uploads = [self._now(row.upload) for _, row in sorted(self.rows.uploads.items())]
        return [u for u in uploads if u.created_at < before or u.table_id is None][:limit]

    def delete_expired(self, upload_ids: Sequence[int]) -> None:
        for upload_id in upload_ids:
            self.rows.uploads.pop(upload_id, None)


@dataclass(slots=True)
class DictObjects:
    """The port ``Objects``. Whoever has a signed request puts into ``contents`` by its URL."""

    contents: dict[str, bytes] = field(default_factory=dict)

    def sign_put(self, key: str, *, content_type: str, size: int, expires_s: int) -> SignedPut:
        """The URL is the key, and nothing expires."""
        del size, expires_s
        return SignedPut(key, {"Content-Type": content_type})

    def size(self, key: str) -> int | None:
        return len(self.contents[key]) if key in self.contents else None

    def read(self, key: str) -> Iterator[bytes]:
        if key not in self.contents:
            raise UploadMissingError("nothing was uploaded")
        content = self.contents[key]
        yield from (content[at : at + PIECE] for at in range(0, len(content), PIECE))

    def delete(self, key: str) -> None:
        self.contents.pop(key, None)
