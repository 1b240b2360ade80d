"""Uploads: ask for a place, say that the document is there, look, import, and forget."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from context_search.domain.access import Principal
from context_search.domain.document_text import document_text
from context_search.domain.errors import (
    AttemptsExhaustedError,
    CommitUnknownError,
    ConflictError,
    ContextSearchError,
    DocumentTooLargeError,
    InvalidDocumentError,
    NotFoundError,
    TooManyUploadsError,
    UploadMissingError,
)
from context_search.domain.orders import ImportUpload
from context_search.domain.uploads import (
    CONTENT_TYPES,
    MAX_UPLOAD_BYTES,
    NewUpload,
    Upload,
    import_memory,
)
from context_search.ports.outside import Objects, SignedPut
from context_search.ports.store import Store, UnitOfWork

URL_LIVES_S = 900
MAX_PENDING = 20
PENDING_COUNTS_S = 3_600.0
"""So long an upload that nobody completes counts: else a few forgotten ones lock a project out."""
UPLOAD_LIVES_S = 86_400.0
UPLOADS_PER_STEP = 50
MAX_RUNS = 3
Imported = Literal["done", "failed", "nothing_to_do"]


@dataclass(frozen=True, slots=True)
class ManageUploads:
    """Uploads end: imported, failed, or forgotten a day after they were made."""

    store: Store
    objects: Objects
    max_bytes: int = MAX_UPLOAD_BYTES

    def create(self, principal: Principal, new: NewUpload) -> tuple[Upload, SignedPut]:
        """Makes a place in S3 for one document, and the request that puts it there.

        The request may begin within 15 minutes.
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

    def read(self, principal: Principal, table_id: int, upload_id: int) -> Upload:
        """Tells how far an upload has come.

        Raises NotFoundError, also a day after the upload was made.
        """
        with self.store.for_project(principal.project_id) as work:
            return _found(work, principal, table_id, upload_id)

    def complete(self, principal: Principal, table_id: int, upload_id: int) -> Upload:
        """Orders the import of a document that is in S3.

        Safe to repeat: one that was completed before is returned as it stands.
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

    def revive(self, silent_s: float) -> int:
        """Orders imports again that nobody has worked on for so long; returns how many."""
        with self.store.for_all("upkeep") as work:
            silent = work.uploads.silent(silent_s=silent_s, limit=UPLOADS_PER_STEP)
            work.send(*(ImportUpload(upload_id) for upload_id in silent))
        return len(silent)

    def forget(self) -> int:
        """Deletes objects, then rows, of what is outdated; returns how many, at most 50."""
        with self.store.for_all("upkeep") as work:
            outdated = work.uploads.outdated(older_than_s=UPLOAD_LIVES_S, limit=UPLOADS_PER_STEP)
        for upload in outdated:
            self.objects.delete(upload.key)
        with self.store.for_all("upkeep") as work:
            work.uploads.forget([upload.id for upload in outdated])
        return len(outdated)


@dataclass(frozen=True, slots=True)
class ImportDocument:
    """The order ``import``: brings one uploaded document into its table.

    It does so once, whatever is repeated or killed. The row of the upload decides: the document
    and ``done`` are written in one transaction, and only an upload that is ``importing`` is
    written at all. What can never succeed ends as ``failed``; so does an import that was stopped
    without a word three times, for it does not fit into the memory or the time of a function.
    ``patient`` is the store with a time limit for large documents. ``memory_bytes`` is what the
    function has; a document that needs more is refused before it is read.
    """

    store: Store
    patient: Store
    objects: Objects
    max_bytes: int = MAX_UPLOAD_BYTES
    memory_bytes: int | None = None

    def run(self, upload_id: int) -> Imported:
        """Raises what is worth another try: a part that is away."""
        try:
            upload = self._begin(upload_id)
            if upload is None:
                return "nothing_to_do"
            done = self._write(upload, self._text(upload))
        except CommitUnknownError:
            raise  # the row knows; the next run looks at it
        except ContextSearchError as error:
            if error.retryable:
                self._give_back(upload_id)
                raise
            return self._fail(upload_id, error)
        with suppress(ContextSearchError):  # the document is committed; cleanup does it too
            self.objects.delete(upload.key)
        return done

    def _begin(self, upload_id: int) -> Upload | None:
        with self.store.for_all("import an upload") as work:
            upload = work.uploads.lock(upload_id)
            if upload is None or upload.state != "importing":
                return None
            if upload.runs < MAX_RUNS:
                work.uploads.save(replace(upload, runs=upload.runs + 1))
                return upload
        raise AttemptsExhaustedError(
            f"the import was stopped {MAX_RUNS} times: the document does not fit into the memory"
            " or the time of a function"
        )

    def _text(self, upload: Upload) -> str:
        content = bytearray()
        self._check_size(upload.bytes or 0)
        for piece in self.objects.read(upload.key):
            self._check_size(len(content) + len(piece))
            content += piece
        if upload.size not in (None, len(content)):
            raise InvalidDocumentError(f"{len(content)} bytes were uploaded, not {upload.size}")
        if upload.sha256 not in (None, hashlib.sha256(content).hexdigest()):
            raise InvalidDocumentError("the sha256 of what was uploaded is another one")
        return document_text(content, upload.format)

    def _check_size(self, size: int) -> None:
        if size > self.max_bytes:
            raise DocumentTooLargeError(f"the document has over {self.max_bytes} bytes")
        if self.memory_bytes is not None and import_memory(size) > self.memory_bytes:
            raise DocumentTooLargeError(
                f"a document of {size} bytes takes {import_memory(size) >> 20} MB of memory to"
                f" import and the function has {self.memory_bytes >> 20}: raise IndexMemory"
            )

    def _write(self, upload: Upload, text: str) -> Imported:
        with self.patient.for_all("import an upload") as work:
            locked = work.uploads.lock(upload.id)
            if locked is None or locked.state != "importing":
                return "nothing_to_do"
            if locked.table_id is None or not work.tables.find(
                locked.table_id, project_id=locked.project_id
            ):
                raise NotFoundError("the table is gone")
            table = work.tables.replace(locked.table_id, text, expected_revision=locked.if_revision)
            if table is None:
                raise ConflictError("the table has another revision by now")
            work.uploads.save(
                replace(locked, state="done", revision=table.revision, runs=0, last_error=None)
            )
            work.send_waiting(locked.project_id)  # a trigger has ordered the comparisons
        return "done"

    def _give_back(self, upload_id: int) -> None:
        """A run that failed for a reason was not stopped without a word."""
        with suppress(ContextSearchError), self.store.for_all("import an upload") as work:
            upload = work.uploads.lock(upload_id)
            if upload is not None and upload.state == "importing":
                work.uploads.save(replace(upload, runs=max(0, upload.runs - 1)))

    def _fail(self, upload_id: int, error: ContextSearchError) -> Imported:
        # What Postgres says of a statement is for the log.
        shown = error.is_for_callers
        message = error.message if shown else "Postgres does not take this document"
        code = error.code if shown else "DOCUMENT_REJECTED"
        with self.store.for_all("import an upload") as work:
            upload = work.uploads.lock(upload_id)
            if upload is None or upload.state != "importing":
                return "nothing_to_do"
            told = {"code": code, "message": message, "retryable": False}
            work.uploads.save(replace(upload, state="failed", runs=0, last_error=told))
        with suppress(ContextSearchError):
            self.objects.delete(upload.key)
        return "failed"


def _found(work: UnitOfWork, principal: Principal, table_id: int, upload_id: int) -> Upload:
    table = work.tables.find(table_id, project_id=principal.project_id)
    upload = table and work.uploads.find(upload_id, table_id=table.id)
    if not upload:
        raise NotFoundError("there is no such upload")
    return upload
