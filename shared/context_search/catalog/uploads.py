"""Uploads: ask for a place, say that the document is there, look, and forget."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from context_search.access.lookup import live_table
from context_search.budgets.bounds import check_bound
from context_search.catalog.rules.uploads import CONTENT_TYPES, NewUpload, Upload
from context_search.core.callers import Principal
from context_search.core.errors import (
    ConflictError,
    DocumentTooLargeError,
    NotFoundError,
    TooManyUploadsError,
    UploadMissingError,
)
from context_search.core.limits import MAX_UPLOAD_BYTES, ProjectBounds
from context_search.core.messages import ImportUpload
from context_search.integrations.ports import Objects, SignedPut
from context_search.store import Store, UnitOfWork

URL_LIVES_S = 900
MAX_PENDING = 20
PENDING_COUNTS_S = 3_600.0
"""Seconds for which an unfinished upload counts. Else a few forgotten ones lock a project out."""
UPLOAD_LIVES_S = 86_400.0
UPLOADS_PER_STEP = 50


@dataclass(frozen=True, slots=True)
class ManageUploads:
    """Uploads end: imported, failed, or forgotten a day after they were made."""

    store: Store
    objects: Objects
    max_bytes: int = MAX_UPLOAD_BYTES
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    def create(self, principal: Principal, new: NewUpload) -> tuple[Upload, SignedPut]:
        """Makes a place in S3 for one document, and the request that puts it there.

        The request may begin within 15 minutes.
        Raises NotFoundError, ConflictError when the revision is another one already,
        DocumentTooLargeError and TooManyUploadsError.
        """
        if new.size > self.max_bytes:
            raise DocumentTooLargeError(f"an upload may have {self.max_bytes} bytes")
        with self.store.for_project(principal.project_id) as work:
            table = live_table(work, principal, new.table_id)
            if new.if_revision not in (None, table.revision):
                raise ConflictError("the table has another revision by now")
            waiting = work.uploads.pending(principal.project_id, younger_than_s=PENDING_COUNTS_S)
            if waiting >= MAX_PENDING:
                raise TooManyUploadsError(
                    f"{waiting} uploads of the last hour were not completed", retry_after_s=60
                )
            upload = work.uploads.add(new)
            signed = self.objects.sign_put(
                upload.key,
                content_type=CONTENT_TYPES[new.format],
                size=new.size,
                expires_s=URL_LIVES_S,
            )
        return upload, signed

    def complete(self, principal: Principal, table_id: int, upload_id: int) -> Upload:
        """Orders the import of a document that is in S3.

        Safe to repeat: one that was completed before is returned as it stands.
        Raises NotFoundError, UploadMissingError before the document is there,
        DocumentTooLargeError, ProjectFullError and ObjectsUnavailableError; a smaller document may
        still take the place of one that is too large.
        """
        with self.store.for_project(principal.project_id) as work:
            upload = find_upload(work, principal, table_id, upload_id)
        if upload.state != "pending":
            return upload
        size = self.objects.size(upload.key)
        if size is None:
            raise UploadMissingError("nothing was uploaded yet")
        if size > self.max_bytes:
            raise DocumentTooLargeError(f"an upload may have {self.max_bytes} bytes")
        with self.store.for_project(principal.project_id) as work:
            locked = work.uploads.lock(upload.id)
            if locked is None or locked.state != "pending":
                return locked or upload
            check_bound(work, upload.project_id, "document_bytes", self.bounds, more=size)
            upload = replace(locked, state="importing", bytes=size)
            work.uploads.save(upload)
            work.send(ImportUpload(upload.id))
        return upload

    def revive(self, silent_s: float) -> int:
        """Orders imports again that nobody has worked on for so long; returns how many."""
        with self.store.for_all("maintenance") as work:
            silent = work.uploads.silent(silent_s=silent_s, limit=UPLOADS_PER_STEP)
            work.send(*(ImportUpload(upload_id) for upload_id in silent))
        return len(silent)

    def delete_expired(self) -> int:
        """Deletes objects, then rows, of what is outdated; returns how many, at most 50."""
        with self.store.for_all("maintenance") as work:
            outdated = work.uploads.outdated(older_than_s=UPLOAD_LIVES_S, limit=UPLOADS_PER_STEP)
        for upload in outdated:
            self.objects.delete(upload.key)
        with self.store.for_all("maintenance") as work:
            work.uploads.delete_expired([upload.id for upload in outdated])
        return len(outdated)


def find_upload(work: UnitOfWork, principal: Principal, table_id: int, upload_id: int) -> Upload:
    """Returns an upload. Raises NotFoundError, also a day after it was made."""
    table = work.tables.find(table_id, project_id=principal.project_id)
    upload = table and work.uploads.find(upload_id, table_id=table.id)
    if not upload:
        raise NotFoundError("there is no such upload")
    return upload
