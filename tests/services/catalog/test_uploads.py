"""An uploaded document reaches its table once, or its upload says why not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from context_search.adapters.postgres.errors import from_server
from context_search.domain.access import ProjectKey
from context_search.domain.errors import (
    ConflictError,
    DocumentTooLargeError,
    NotFoundError,
    ObjectsUnavailableError,
    TooManyUploadsError,
    UploadMissingError,
)
from context_search.domain.model import Table
from context_search.domain.uploads import NewUpload, Upload, UploadFormat, import_memory
from context_search.ports.outside import SignedPut
from context_search.services.catalog.uploads import (
    MAX_PENDING,
    MAX_RUNS,
    PENDING_COUNTS_S,
    ImportDocument,
    ManageUploads,
)
from context_search.services.upkeep.cleanup import CleanupLimits, CleanupReport
from testing.in_memory.uploads import DictObjects
from tests.services.house import House, prose

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


class Office(House):
    """A house where documents come in through S3."""

    def __init__(self) -> None:
        super().__init__()
        self.objects = self.moody = MoodyObjects()
        self.uploads = ManageUploads(self.store, self.objects, max_bytes=100_000)
        self.import_document = ImportDocument(
            self.store, self.store, self.objects, max_bytes=100_000
        )

    def upload(
        self, table: Table, content: bytes, form: UploadFormat = "json", **more: object
    ) -> Upload:
        """An upload that is complete; its order waits."""
        new = NewUpload(self.principal.project_id, table.id, form, **more)  # type: ignore[arg-type]
        made, signed = self.uploads.create(self.principal, new)
        self.objects.contents[signed.url] = content
        return self.uploads.complete(self.principal, table.id, made.id)

    def now(self, upload: Upload) -> Upload:
        """The upload as its caller sees it."""
        assert upload.table_id is not None
        return self.uploads.read(self.principal, upload.table_id, upload.id)

    def error(self, upload: Upload) -> str:
        """The code of what went wrong, once nothing can change any more."""
        now = self.now(upload)
        assert now.state == "failed"
        assert now.last_error is not None
        assert self.objects.contents == {}
        return str(now.last_error["code"])

    def document(self, table: Table) -> str:
        """The text in the table."""
        return self.memory.rows.tables[table.id].data_json

    def clean_up(self) -> CleanupReport:
        """One scheduled run."""
        report = self.scheduled(CleanupLimits(silent_s=60)).run(self.deadline())
        assert report.errors == []
        return report


@pytest.fixture
def office() -> Office:
    return Office()


def test_a_document_is_imported_and_indexed(office: Office) -> None:
    table = office.table({})
    tool = office.tool(table).tool
    upload = office.upload(table, f'{{"a": "{prose(300)[:300].replace(chr(10), " ")}"}}'.encode())
    assert (upload.state, upload.bytes) == ("importing", 309)
    office.work()
    assert (office.now(upload).state, office.now(upload).revision) == ("done", 2)
    assert office.objects.contents == {}
    assert office.read_status(tool.id, office.principal).progress.nodes_count == 1


@pytest.mark.parametrize("sqlstate", ["23503", "23505", "23514"])
def test_what_postgres_says_of_a_statement_is_not_shown(office: Office, sqlstate: str) -> None:
    upload = office.upload(office.table({}), b"{}")
    office.moody.moods = [from_server({"C": sqlstate, "n": "of_the_owner", "t": "his_table"})]
    office.work()
    assert office.error(upload) == "DOCUMENT_REJECTED"
    told = office.now(upload).last_error
    assert told is not None
    assert told["message"] == "Postgres does not take this document"


def test_lines_become_an_array(office: Office) -> None:
    table = office.table({})
    office.upload(table, b'{"n": 1.10}\n{"n": 2}\n', "jsonl")
    office.work()
    assert office.document(table) == '[{"n": 1.10},{"n": 2}]'


def test_what_is_said_of_the_content_is_checked(office: Office) -> None:
    table = office.table({})
    right = hashlib.sha256(b"[1]").hexdigest()
    good = office.upload(table, b"[1]", size=3, sha256=right)
    office.work()
    assert office.now(good).state == "done"
    for content, size in ((b"[2]", 3), (b"[11]", 3)):
        bad = office.upload(table, content, size=size, sha256=right)
        office.work()
        assert office.error(bad) == "INVALID_DOCUMENT"
    assert office.document(table) == "[1]"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "INVALID_DOCUMENT"),
        (b'"\\u0000"', "INVALID_DOCUMENT"),
        (b"[" * 300 + b"]" * 300, "INVALID_DOCUMENT"),
        (b"", "INVALID_DOCUMENT"),
    ],
    ids=lambda value: str(value[:10]),
)
def test_a_bad_document_fails_once_and_for_all(office: Office, content: bytes, code: str) -> None:
    table = office.table({"old": True})
    upload = office.upload(table, content)
    office.work()
    assert office.error(upload) == code
    assert office.queue.messages == []
    assert office.document(table) == '{"old":true}'


def test_a_revision_is_checked_when_the_upload_is_made_and_when_it_is_imported(
    office: Office,
) -> None:
    table = office.table(1)
    upload = office.upload(table, b"2", if_revision=1)
    office.replace(office.principal, table.id, 3)
    office.work()
    assert office.error(upload) == "CONFLICT"
    assert office.document(table) == "3"
    with pytest.raises(ConflictError):
        office.upload(table, b"4", if_revision=1)
    current = office.upload(table, b"4", if_revision=2)
    office.work()
    assert office.now(current).revision == 3


def test_repeating_an_order_changes_nothing(office: Office) -> None:
    table = office.table(1)
    upload = office.upload(table, b"2")
    office.work()
    office.replace(office.principal, table.id, 3)
    office.objects.contents[upload.key] = b"2"  # the URL still works
    assert office.import_document.run(upload.id) == "nothing_to_do"
    assert office.uploads.complete(office.principal, table.id, upload.id).state == "done"
    office.work()
    assert office.document(table) == "3"
    assert office.import_document.run(10**9) == "nothing_to_do"


def test_completing_twice_orders_one_import(office: Office) -> None:
    table = office.table(1)
    upload = office.upload(table, b"2")
    assert office.uploads.complete(office.principal, table.id, upload.id) == upload
    assert len(office.queue.messages) == 1


def test_nothing_is_ordered_before_the_document_is_there(office: Office) -> None:
    table = office.table(1)
    new = NewUpload(office.principal.project_id, table.id, "json")
    upload, signed = office.uploads.create(office.principal, new)
    with pytest.raises(UploadMissingError):
        office.uploads.complete(office.principal, table.id, upload.id)
    assert office.now(upload).state == "pending"
    office.objects.contents[signed.url] = b"2"
    office.uploads.complete(office.principal, table.id, upload.id)
    office.work()
    assert office.now(upload).state == "done"


def test_a_document_over_the_limit_is_not_imported(office: Office) -> None:
    table = office.table(1)
    with pytest.raises(DocumentTooLargeError):
        office.upload(table, b'"' + b"x" * 100_000 + b'"')
    assert office.queue.messages == []
    assert [row.upload.state for row in office.memory.rows.uploads.values()] == ["pending"]


def test_a_size_over_the_limit_gets_no_url(office: Office) -> None:
    table = office.table(1)
    new = NewUpload(office.principal.project_id, table.id, "json", size=100_001)
    with pytest.raises(DocumentTooLargeError):
        office.uploads.create(office.principal, new)
    assert office.memory.rows.uploads == {}


def test_a_project_has_only_so_many_uploads_that_nobody_completes(office: Office) -> None:
    table, other = office.table(1), office.table(1)
    made = [begun(office, each) for each in [table, other] * (MAX_PENDING // 2)]
    with pytest.raises(TooManyUploadsError) as caught:
        begun(office, table)
    assert caught.value.retryable
    upload, signed = made[0]
    office.objects.contents[signed.url] = b"2"
    office.uploads.complete(office.principal, table.id, upload.id)
    begun(office, table)
    with pytest.raises(TooManyUploadsError):
        begun(office, other)
    office.clock.advance(PENDING_COUNTS_S + 1)
    begun(office, table)


def begun(office: Office, table: Table) -> tuple[Upload, SignedPut]:
    new = NewUpload(office.principal.project_id, table.id, "json")
    return office.uploads.create(office.principal, new)


def test_a_part_that_is_away_is_tried_again_as_often_as_needed(office: Office) -> None:
    table = office.table(1)
    upload = office.upload(table, b"2")
    for _ in range(MAX_RUNS + 2):
        office.moody.moods.append(ObjectsUnavailableError())
        with pytest.raises(ObjectsUnavailableError):
            office.import_document.run(upload.id)
        assert office.now(upload).state == "importing"
    assert office.import_document.run(upload.id) == "done"


def test_an_import_that_is_killed_again_and_again_is_given_up(office: Office) -> None:
    table = office.table(1)
    upload = office.upload(table, b"2")
    for _ in range(MAX_RUNS):
        office.moody.moods.append(Killed())
        with pytest.raises(Killed):
            office.import_document.run(upload.id)
    assert office.import_document.run(upload.id) == "failed"
    assert office.error(upload) == "ATTEMPTS_EXHAUSTED"
    assert office.document(table) == "1"


def test_a_table_that_goes_away_takes_its_upload_along(office: Office) -> None:
    table = office.table(1)
    upload = office.upload(table, b"2")
    office.delete_table(office.principal, table.id)
    with pytest.raises(NotFoundError):
        office.now(upload)
    office.work()
    assert office.memory.rows.uploads[upload.id].upload.state == "failed"
    office.objects.contents[upload.key] = b"late"
    office.clean_up()
    office.clean_up()
    assert (office.objects.contents, office.memory.rows.uploads) == ({}, {})


def test_an_upload_of_others_is_not_there(office: Office) -> None:
    table, other = office.table(1), office.table(2)
    upload = office.upload(table, b"2")
    stranger = ProjectKey(office.principal.project_id + 1)
    for who, table_id in ((stranger, table.id), (office.principal, other.id)):
        with pytest.raises(NotFoundError):
            office.uploads.read(who, table_id, upload.id)
        with pytest.raises(NotFoundError):
            office.uploads.complete(who, table_id, upload.id)
    with pytest.raises(NotFoundError):
        office.uploads.create(stranger, NewUpload(stranger.project_id, table.id, "json"))


def test_cleanup_orders_again_what_fell_silent(office: Office) -> None:
    table = office.table(1)
    upload = office.upload(table, b"2")
    office.queue.messages.clear()
    assert office.clean_up().imports_revived == 0
    office.clock.advance(61)
    assert office.clean_up().imports_revived == 1
    office.work()
    assert office.now(upload).state == "done"


def test_after_a_day_an_upload_is_forgotten_with_its_object(office: Office) -> None:
    table = office.table(1)
    new = NewUpload(office.principal.project_id, table.id, "json")
    _, signed = office.uploads.create(office.principal, new)
    office.objects.contents[signed.url] = b"never completed"
    imported = office.upload(table, b"2")
    office.work()
    office.clock.advance(DAY_S - 1)
    assert office.clean_up().uploads_forgotten == 0
    office.clock.advance(2)
    assert office.clean_up().uploads_forgotten == 2
    assert office.objects.contents == {}
    with pytest.raises(NotFoundError):
        office.now(imported)


def test_a_document_that_does_not_fit_into_the_memory_is_refused_before_it_is_read(
    office: Office,
) -> None:
    table = office.table({})
    small, large = b"[1]", b"[" + b"1," * 1000 + b"1]"
    office.import_document = replace(
        office.import_document, memory_bytes=import_memory(len(large) - 1)
    )
    office.upload(table, small)
    office.work()
    assert office.document(table) == "[1]"
    refused = office.upload(table, large)
    office.objects.contents.clear()  # who reads would miss it
    office.work()
    assert office.error(refused) == "DOCUMENT_TOO_LARGE"
    message = (office.now(refused).last_error or {})["message"]
    assert "raise IndexMemory" in str(message)


def test_a_larger_document_that_takes_the_place_of_the_completed_one_is_refused_too(
    office: Office,
) -> None:
    table = office.table({})
    office.import_document = replace(office.import_document, memory_bytes=import_memory(10))
    refused = office.upload(table, b"[1]")
    office.objects.contents[refused.key] = b"[" + b"1," * 10 + b"1]"
    office.work()
    assert office.error(refused) == "DOCUMENT_TOO_LARGE"
    assert office.document(table) == "{}"
