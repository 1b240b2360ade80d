"""Uploads as their callers see them: ask for a place, say that the document is there, look."""

from __future__ import annotations

from dataclasses import dataclass, replace

from context_search.domain.access import Principal
from context_search.domain.errors import (
    ConflictError,
    DocumentTooLargeError,
    NotFoundError,
    TooManyUploadsError,
    UploadMissingError,
)
from context_search.domain.orders import ImportUpload
from context_search.domain.uploads import CONTENT_TYPES, MAX_UPLOAD_BYTES, NewUpload, Upload
from context_search.ports.outside import Objects, SignedPut
from context_search.ports.store import Store, UnitOfWork

URL_LIVES_S = 900
MAX_PENDING = 20
PENDING_COUNTS_S = 3_600.0
"""So long an upload that nobody completes counts: else a few forgotten ones lock a project out."""


@dataclass(frozen=True, slots=True)
class CreateUpload:
    """Makes a place in S3 for one document, and the request that puts it there."""

    store: Store
    objects: Objects
    max_bytes: int = MAX_UPLOAD_BYTES

    def __call__(self, principal: Principal, new: NewUpload) -> tuple[Upload, SignedPut]:
        """The request may begin within 15 minutes.

        Raises NotFoundError, ConflictError when the revision is another one already,
        DocumentTooLargeError and TooManyUploadsError.
        """
        if new.size is not None and new.size > self.max_bytes:
            raise DocumentTooLargeError(f"an upload may have {self.max_bytes} bytes")
        with self.store.for_project(principal.project_id) as work:
            table = work.tables.find(new.table_id, project_id=principal.project_id)
            if table is None:
                raise NotFoundError("there is no such table")
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


@dataclass(frozen=True, slots=True)
class ReadUpload:
    """Tells how far an upload has come."""

    store: Store

    def __call__(self, principal: Principal, table_id: int, upload_id: int) -> Upload:
        """Raises NotFoundError, also a day after the upload was made."""
        with self.store.for_project(principal.project_id) as work:
            return _found(work, principal, table_id, upload_id)


@dataclass(frozen=True, slots=True)
class CompleteUpload:
    """Orders the import of a document that is in S3."""

    store: Store
    objects: Objects
    max_bytes: int = MAX_UPLOAD_BYTES

    def __call__(self, principal: Principal, table_id: int, upload_id: int) -> Upload:
        """Safe to repeat: one that was completed before is returned as it stands.

        Raises NotFoundError, UploadMissingError before the document is there,
        DocumentTooLargeError and ObjectsUnavailableError; a smaller document may still take the
        place of one that is too large.
        """
        with self.store.for_project(principal.project_id) as work:
            upload = _found(work, principal, table_id, upload_id)
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
            upload = replace(locked, state="importing", bytes=size)
            work.uploads.save(upload)
            work.send(ImportUpload(upload.id))
        return upload


def _found(work: UnitOfWork, principal: Principal, table_id: int, upload_id: int) -> Upload:
    table = work.tables.find(table_id, project_id=principal.project_id)
    upload = table and work.uploads.find(upload_id, table_id=table.id)
    if not upload:
        raise NotFoundError("there is no such upload")
    return upload
