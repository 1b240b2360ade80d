"""An uploaded document reaches its table once, or its upload says why not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from context_search.catalog.imports import MAX_RUNS, ImportDocument
from context_search.catalog.rules.uploads import NewUpload, Upload, UploadFormat, import_memory
from context_search.catalog.uploads import (
    MAX_PENDING,
    PENDING_COUNTS_S,
    ManageUploads,
    find_upload,
)
from context_search.core.callers import ProjectKey
from context_search.core.errors import (
    ConflictError,
    DocumentTooLargeError,
    ImportBusyError,
    NotFoundError,
    ObjectsUnavailableError,
    TooManyUploadsError,
)
from context_search.core.model import Table
from context_search.integrations.ports import SignedPut
from context_search.maintenance.cleanup import keep_uploads_step
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.health import CleanupLimits
from context_search.postgres.errors import from_server
from testing.in_memory.objects import DictObjects
from tests.contract.store.bench import PostgresBench
from tests.system import System, prose

DAY_S = 86_400.0


class Killed(BaseException):
    """What nobody catches: the function is stopped."""


@dataclass(slots=True)
class MoodyObjects(DictObjects):
    """Raises what it was given, one per read, before it works again."""

    moods: list[BaseException] = field(default_factory=list)

    def read(self, key: str) -> Iterator[bytes]:
        if self.moods:
            raise self.moods.pop(0)
        return DictObjects.read(self, key)


class UploadSystem(System):
    """A system where documents come in through S3."""

    def __init__(self, bench: PostgresBench) -> None:
        super().__init__(store=bench.store)
        self.bench, self.principal = bench, ProjectKey(bench.project().id)
        self.objects = self.moody = MoodyObjects()
        self.uploads = ManageUploads(self.store, self.objects, max_bytes=100_000)
        self.import_document = ImportDocument(
            self.store, self.store, self.objects, max_bytes=100_000
        )

    def upload(
        self, table: Table, content: bytes, form: UploadFormat = "json", **more: object
    ) -> Upload:
        """An upload that is complete; its message waits."""
        said = {"size": len(content), **more}
        new = NewUpload(self.principal.project_id, table.id, form, **said)  # type: ignore[arg-type]
        made, signed = self.uploads.create(self.principal, new)
        self.objects.contents[signed.url] = content
        return self.uploads.complete(self.principal, table.id, made.id)

    def now(self, upload: Upload) -> Upload:
        """The upload as its caller sees it."""
        assert upload.table_id is not None
        with self.store.for_project(self.principal.project_id) as work:
            return find_upload(work, self.principal, upload.table_id, upload.id)

    def error(self, upload: Upload) -> str:
        """The code of what went wrong, once nothing can change any more."""
        now = self.now(upload)
        assert now.state == "failed"
        assert now.last_error is not None
        assert self.objects.contents == {}
        return str(now.last_error["code"])

    def document(self, table: Table) -> str:
        with self.store.for_all("test") as work:
            return work.tables.read(table.id)[1]

    def clean_up(self) -> CleanupReport:
        step = keep_uploads_step(self.uploads, silent_s=60)
        report = self.scheduled(CleanupLimits(silent_s=60), step).run(self.deadline())
        assert report.errors == []
        return report

    def states(self) -> list[str]:
        with self.bench.database.transaction() as tx:
            return [state for (state,) in tx.run("SELECT state FROM upload ORDER BY id")]


@pytest.fixture
def system(bench: PostgresBench) -> UploadSystem:
    return UploadSystem(bench)


def test_a_document_is_imported_and_indexed(system: UploadSystem) -> None:
    table = system.table({})
    tool = system.tool(table).tool
    upload = system.upload(table, f'{{"a": "{prose(300)[:300].replace(chr(10), " ")}"}}'.encode())
    assert (upload.state, upload.bytes) == ("importing", 309)
    system.work()
    assert (system.now(upload).state, system.now(upload).revision) == ("done", 2)
    assert system.objects.contents == {}
    assert system.read_status(tool.id, system.principal).progress.nodes_count == 1


@pytest.mark.parametrize("sqlstate", ["23503", "23505", "23514"])
def test_what_postgres_says_of_a_statement_is_not_shown(
    system: UploadSystem, sqlstate: str
) -> None:
    upload = system.upload(system.table({}), b"{}")
    system.moody.moods = [from_server({"C": sqlstate, "n": "of_the_owner", "t": "his_table"})]
    system.work()
    assert system.error(upload) == "DOCUMENT_REJECTED"
    reported = system.now(upload).last_error
    assert reported is not None
    assert reported["message"] == "Postgres does not take this document"


def test_what_is_said_of_the_content_is_checked(system: UploadSystem) -> None:
    table = system.table({})
    right = hashlib.sha256(b"[1]").hexdigest()
    good = system.upload(table, b"[1]", size=3, sha256=right)
    system.work()
    assert system.now(good).state == "done"
    for content, size in ((b"[2]", 3), (b"[11]", 3)):
        bad = system.upload(table, content, size=size, sha256=right)
        system.work()
        assert system.error(bad) == "INVALID_DOCUMENT"
    assert system.document(table) == "[1]"


def test_a_bad_document_fails_once_and_for_all(system: UploadSystem) -> None:
    table = system.table({"old": True})
    upload = system.upload(table, b"{")
    system.work()
    assert system.error(upload) == "INVALID_DOCUMENT"
    assert system.queue.messages == []
    assert system.document(table) == '{"old": true}'


def test_a_revision_is_checked_when_the_upload_is_made_and_when_it_is_imported(
    system: UploadSystem,
) -> None:
    table = system.table(1)
    upload = system.upload(table, b"2", if_revision=1)
    system.replace(system.principal, table.id, 3)
    system.work()
    assert system.error(upload) == "CONFLICT"
    assert system.document(table) == "3"
    with pytest.raises(ConflictError):
        system.upload(table, b"4", if_revision=1)
    current = system.upload(table, b"4", if_revision=2)
    system.work()
    assert system.now(current).revision == 3


def test_repeating_an_order_changes_nothing(system: UploadSystem) -> None:
    table = system.table(1)
    upload = system.upload(table, b"2")
    system.work()
    system.replace(system.principal, table.id, 3)
    system.objects.contents[upload.key] = b"2"  # the URL still works
    assert system.import_document.run(upload.id) == "nothing_to_do"
    assert system.uploads.complete(system.principal, table.id, upload.id).state == "done"
    system.work()
    assert system.document(table) == "3"
    assert system.import_document.run(10**9) == "nothing_to_do"


def test_completing_twice_orders_one_import(system: UploadSystem) -> None:
    table = system.table(1)
    upload = system.upload(table, b"2")
    assert system.uploads.complete(system.principal, table.id, upload.id) == upload
    assert len(system.queue.messages) == 1


def test_a_document_over_the_limit_is_not_imported(system: UploadSystem) -> None:
    table = system.table(1)
    with pytest.raises(DocumentTooLargeError):
        system.upload(table, b'"' + b"x" * 100_000 + b'"', size=100_000)
    assert system.queue.messages == []
    assert system.states() == ["pending"]


def test_a_project_has_only_so_many_uploads_that_nobody_completes(system: UploadSystem) -> None:
    table, other = system.table(1), system.table(1)
    made = [begun(system, each) for each in [table, other] * (MAX_PENDING // 2)]
    with pytest.raises(TooManyUploadsError) as caught:
        begun(system, table)
    assert caught.value.retryable
    upload, signed = made[0]
    system.objects.contents[signed.url] = b"2"
    system.uploads.complete(system.principal, table.id, upload.id)
    begun(system, table)
    with pytest.raises(TooManyUploadsError):
        begun(system, other)
    system.bench.pass_time(PENDING_COUNTS_S + 1)
    begun(system, table)


def begun(system: UploadSystem, table: Table) -> tuple[Upload, SignedPut]:
    new = NewUpload(system.principal.project_id, table.id, "json", size=1)
    return system.uploads.create(system.principal, new)


def test_a_part_that_is_away_is_tried_again_as_often_as_needed(system: UploadSystem) -> None:
    table = system.table(1)
    upload = system.upload(table, b"2")
    for _ in range(MAX_RUNS + 2):
        system.moody.moods.append(ObjectsUnavailableError())
        with pytest.raises(ObjectsUnavailableError):
            system.import_document.run(upload.id)
        assert system.now(upload).state == "importing"
    assert system.import_document.run(upload.id) == "done"


def test_an_import_that_takes_long_is_done_by_one_worker(system: UploadSystem) -> None:
    upload = system.upload(system.table(1), b"2")
    refusals: list[ImportBusyError] = []

    class Slow(MoodyObjects):
        def read(self, key: str) -> Iterator[bytes]:
            with pytest.raises(ImportBusyError) as reported:  # its message came again
                system.import_document.run(upload.id)
            refusals.append(reported.value)
            return system.objects.read(key)

    slow = replace(system.import_document, objects=Slow())
    assert slow.run(upload.id) == "done"
    [refusal] = refusals
    assert refusal.retryable
    assert str(upload.id) in refusal.message
    assert system.import_document.run(upload.id) == "nothing_to_do"


def test_an_import_that_is_killed_again_and_again_is_given_up(system: UploadSystem) -> None:
    table = system.table(1)
    upload = system.upload(table, b"2")
    for _ in range(MAX_RUNS):
        system.moody.moods.append(Killed())
        with pytest.raises(Killed):
            system.import_document.run(upload.id)
    assert system.import_document.run(upload.id) == "failed"
    assert system.error(upload) == "ATTEMPTS_EXHAUSTED"
    assert system.document(table) == "1"


def test_a_table_that_goes_away_takes_its_upload_along(system: UploadSystem) -> None:
    table = system.table(1)
    upload = system.upload(table, b"2")
    system.delete_table(system.principal, table.id)
    with pytest.raises(NotFoundError):
        system.now(upload)
    system.work()
    assert system.states() == ["failed"]
    system.objects.contents[upload.key] = b"late"
    system.clean_up()
    system.clean_up()
    assert (system.objects.contents, system.states()) == ({}, [])


def test_cleanup_orders_again_what_fell_silent(system: UploadSystem) -> None:
    table = system.table(1)
    upload = system.upload(table, b"2")
    system.queue.messages.clear()
    assert system.clean_up().imports_revived == 0
    system.bench.pass_time(61)
    assert system.clean_up().imports_revived == 1
    system.work()
    assert system.now(upload).state == "done"


def test_after_a_day_an_upload_is_forgotten_with_its_object(system: UploadSystem) -> None:
    table = system.table(1)
    _, signed = begun(system, table)
    system.objects.contents[signed.url] = b"never completed"
    imported = system.upload(table, b"2")
    system.work()
    system.bench.pass_time(DAY_S - 1)
    assert system.clean_up().uploads_forgotten == 0
    system.bench.pass_time(2)
    assert system.clean_up().uploads_forgotten == 2
    assert system.objects.contents == {}
    with pytest.raises(NotFoundError):
        system.now(imported)


def test_a_document_that_does_not_fit_into_the_memory_is_refused_before_it_is_read(
    system: UploadSystem,
) -> None:
    table = system.table({})
    small, large = b"[1]", b"[" + b"1," * 1000 + b"1]"
    system.import_document = replace(
        system.import_document, memory_bytes=import_memory(len(large) - 1)
    )
    system.upload(table, small)
    system.work()
    assert system.document(table) == "[1]"
    refused = system.upload(table, large)
    system.objects.contents.clear()  # who reads would miss it
    system.work()
    assert system.error(refused) == "DOCUMENT_TOO_LARGE"
    message = (system.now(refused).last_error or {})["message"]
    assert "raise IndexMemory" in str(message)


def test_a_larger_document_that_takes_the_place_of_the_completed_one_is_refused_too(
    system: UploadSystem,
) -> None:
    table = system.table({})
    system.import_document = replace(system.import_document, memory_bytes=import_memory(10))
    refused = system.upload(table, b"[1]")
    system.objects.contents[refused.key] = b"[" + b"1," * 10 + b"1]"
    system.work()
    assert system.error(refused) == "DOCUMENT_TOO_LARGE"
    assert system.document(table) == "{}"


# ---------------------------------------------------------------- rows


def new(bench: PostgresBench, table: Table, **more: object) -> Upload:
    with bench.store.for_all("test") as work:
        said = {"size": 5, **more}
        wanted = NewUpload(table.project_id, table.id, "json", **said)  # type: ignore[arg-type]
        return work.uploads.add(wanted)


def save(bench: PostgresBench, upload: Upload) -> None:
    bench.work.uploads.save(upload)


def test_an_import_that_fell_silent_is_told_once_in_that_time(bench: PostgresBench) -> None:
    table = bench.table({})
    importing = [new(bench, table) for _ in range(3)]
    new(bench, table)
    for upload in importing:
        save(bench, replace(upload, state="importing"))
    save(bench, replace(new(bench, table), state="done"))
    bench.pass_time(100)
    save(bench, replace(importing[2], state="importing"))
    with bench.store.for_all("test") as work:
        first = work.uploads.silent(silent_s=60, limit=1)
        rest = work.uploads.silent(silent_s=60, limit=10)
        assert work.uploads.silent(silent_s=60, limit=10) == []
    assert first + rest == [importing[0].id, importing[1].id]


def test_cleanup_is_due_at_once_while_a_document_is_imported(bench: PostgresBench) -> None:
    def due() -> float | None:
        with bench.store.for_all("test") as work:
            return work.health.due_in_s([work.uploads], CleanupLimits())

    upload = new(bench, bench.table({}))
    assert due() is None
    save(bench, replace(upload, state="importing"))
    assert due() == 0
