"""Imports: bring a document that is too large for a request into its table."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from context_search.budgets.bounds import check_growth
from context_search.budgets.shares import exclusive
from context_search.catalog.rules.document_text import document_text
from context_search.catalog.rules.uploads import Upload, import_memory, longest_document
from context_search.catalog.versions import RecordVersions, find_version, text_of
from context_search.core.errors import (
    AttemptsExhaustedError,
    CommitUnknownError,
    ConflictError,
    ContextSearchError,
    DocumentTooLargeError,
    ImportBusyError,
    InvalidDocumentError,
    NotFoundError,
)
from context_search.core.limits import MAX_UPLOAD_BYTES, ProjectBounds
from context_search.core.model import Table
from context_search.integrations.ports import Objects
from context_search.store import Store, UnitOfWork

MAX_RUNS = 3
LEASE_S = 120.0
"""So many seconds a worker lives. For as long a killed one keeps others from its import."""
BUSY_S = 30.0
"""After so many seconds a worker looks again whether another one is done with an import."""
LARGE = RecordVersions(longest_document(None))
"""Records documents of any size that an import may have, on one machine."""
Imported = Literal["done", "failed", "nothing_to_do"]


@dataclass(frozen=True, slots=True)
class ImportDocument:
    """The message ``import``: brings one uploaded document, or an old version, into its table.

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
    recorder: RecordVersions = LARGE
    max_bytes: int = MAX_UPLOAD_BYTES
    memory_bytes: int | None = None
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    def run(self, upload_id: int) -> Imported:
        """Raises what is worth another try: a part that is away, or another worker with the import.

        A second worker would take the first one for dead, and count it so.
        """
        with self.store.for_all("import an upload") as work:
            upload = work.uploads.lock(upload_id)
        if upload is None or upload.state != "importing":
            return "nothing_to_do"
        pool = f"import of {upload_id}"
        with exclusive(self.store, upload.project_id, pool, lease_s=LEASE_S) as has_it:
            if not has_it:
                raise ImportBusyError(
                    f"another worker imports upload {upload_id}", retry_after_s=BUSY_S
                )
            return self._run(upload_id)

    def _run(self, upload_id: int) -> Imported:
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
        if upload.from_revision is not None:
            return self._version(upload, upload.from_revision)
        content = bytearray()
        self._check_size(upload.bytes or 0)
        for piece in self.objects.read(upload.key):
            self._check_size(len(content) + len(piece))
            content += piece
        if upload.size != len(content):
            raise InvalidDocumentError(f"{len(content)} bytes were uploaded, not {upload.size}")
        if upload.sha256 not in (None, hashlib.sha256(content).hexdigest()):
            raise InvalidDocumentError("the sha256 of what was uploaded is another one")
        return document_text(content, upload.format)

    def _version(self, upload: Upload, revision: int) -> str:
        self._check_size(upload.bytes or 0)
        with self.patient.for_all("import an upload") as work:
            table = _table_of(work, upload)
            version = find_version(work, table, revision)
            return text_of(work, table, version, max_bytes=upload.bytes or 0)

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
            table = _table_of(work, locked)
            before = work.versions.overwritten(
                table.id, project_id=table.project_id, max_bytes=self.recorder.max_bytes
            )
            changed = work.tables.replace(
                table.id, text, expected_revision=locked.if_revision, origin=locked.origin
            )
            if changed is None:
                raise ConflictError("the table has another revision by now")
            self.recorder.record(work, changed, before)
            work.uploads.save(
                replace(locked, state="done", revision=changed.revision, runs=0, last_error=None)
            )
            check_growth(work, table.project_id, self.bounds, text, before.text)
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
            reported = {"code": code, "message": message, "retryable": False}
            work.uploads.save(replace(upload, state="failed", runs=0, last_error=reported))
        with suppress(ContextSearchError):
            self.objects.delete(upload.key)
        return "failed"


def _table_of(work: UnitOfWork, upload: Upload) -> Table:
    table = upload.table_id and work.tables.find(upload.table_id, project_id=upload.project_id)
    if not table:
        raise NotFoundError("the table is gone")
    return table
