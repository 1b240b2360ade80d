"""What every change records, and what can be done with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.domain.access import ProjectKey
from context_search.domain.errors import (
    ConflictError,
    DocumentTooLargeError,
    NotFoundError,
    TooManyLabelsError,
    VersionDamagedError,
    VersionNotRecordedError,
)
from context_search.domain.json_text import to_json
from context_search.domain.model import Table
from context_search.domain.uploads import MAX_INLINE_BYTES, NewUpload, Upload
from context_search.domain.versions import MAX_LABELS, HistoryLimits, Version
from context_search.ports.outside import Deadline
from context_search.ports.store import Store, UnitOfWork
from context_search.services.catalog.tables import ManageTables
from context_search.services.catalog.uploads import ManageUploads
from context_search.services.editing.compare import DIFFERENCES_A_PAGE, CompareVersions
from context_search.services.editing.history_settings import ManageHistorySettings
from context_search.services.editing.record import RecordVersions
from context_search.services.editing.versions import ManageVersions
from context_search.services.upkeep.cleanup import CleanupLimits
from tests.services.system import System, prose

LARGE = {"a": [prose(9_000, seed) for seed in range(800)]}
"""Too large for a request."""
DAY_S = 86_400.0


class Editing(System):
    """A system with the past of its tables."""

    def __init__(self, recorded_bytes: int = 10**7) -> None:
        super().__init__()
        recorder = RecordVersions(recorded_bytes)
        self.principal = ProjectKey(self.new_project(), key_id=7)
        self.tables = ManageTables(self.store, recorder=recorder)
        self.versions = ManageVersions(self.store, recorder)
        self.compare = CompareVersions(self.store).compare
        self.limits = ManageHistorySettings(self.store)
        self.uploads = ManageUploads(self.store, self.objects)

    def new_project(self) -> int:
        """Makes a project and returns its id."""
        with self.store.for_all("test") as work:
            return work.projects.add("p").id

    def make(self, document: object) -> Table:
        """Stores a document."""
        return self.tables.create(self.principal, "t", None, document, request_id="made")

    def put(self, table: Table, document: object) -> Table:
        """Replaces a document."""
        return self.tables.replace(self.principal, table.id, document, request_id="put")

    def list(self, table: Table) -> list[Version]:
        """Returns the first page of versions."""
        return [*self.versions.page(self.principal, table.id, below=None).rows]

    def document(self, table: Table, revision: int, pointer: str = "") -> object:
        """Returns a value of a version."""
        text = self.versions.read_document(self.principal, table.id, revision, pointer)
        return json.loads(text)

    def now(self, table: Table) -> object:
        """Returns the document."""
        return json.loads(self.tables.read_document(self.principal, table.id, "")[1])

    def by_sql(self, table: Table, text: str) -> None:
        """What another program does."""
        with self.store.for_all("test") as work:
            work.tables.replace(table.id, text, expected_revision=None)

    def clean_up(self) -> None:
        """Runs the schedule once."""
        report = self.scheduled(CleanupLimits()).run(self.deadline())
        assert report.errors == []

    def restore(self, table: Table, revision: int, **more: int) -> Table | Upload:
        """Restores a version."""
        return self.versions.restore(
            self.principal, table.id, revision, request_id="restored", **more
        )


def told(versions: list[Version]) -> list[tuple[object, ...]]:
    return [(v.revision, v.cause, v.gap, v.actor) for v in versions]


def test_each_way_of_changing_records_what_it_overwrites() -> None:
    system = Editing()
    table = system.make({"a": [1]})
    system.put(table, {"a": [1, 2]})
    system.tables.replace(system.principal, table.id, 3, pointer="/a/-", request_id="added")
    system.tables.merge(system.principal, table.id, {"b": 1})
    system.tables.remove(system.principal, table.id, pointer="/b")
    new = NewUpload(system.principal.project_id, table.id, "json", actor="key:7")
    upload, signed = system.uploads.create(system.principal, new)
    system.objects.contents[signed.url] = b'{"a": "uploaded"}'
    system.uploads.complete(system.principal, table.id, upload.id)
    system.work()
    assert isinstance(system.restore(table, 1), Table)
    by = "key:7"
    assert told(system.list(table)) == [
        (7, "restore", None, by),
        (6, "import", None, by),
        (5, "patch", None, by),
        (4, "patch", None, by),
        (3, "put", None, by),
        (2, "put", None, by),
        (1, "create", None, by),
    ]
    found = [system.document(table, revision) for revision in range(1, 8)]
    lists: list[object] = [{"a": [1]}, {"a": [1, 2]}, {"a": [1, 2, 3]}]
    last = {"a": [1, 2, 3], "b": 1}
    assert found == [*lists, last, lists[2], {"a": "uploaded"}, {"a": [1]}]
    assert system.list(table)[-2].request_id == "put"


def test_a_restored_version_can_be_undone() -> None:
    system = Editing()
    table = system.make({"a": "first"})
    system.put(table, {"a": "second"})
    system.restore(table, 1)
    assert system.now(table) == {"a": "first"}
    system.restore(table, 2)
    assert system.now(table) == {"a": "second"}
    assert [v.revision for v in system.list(table)] == [4, 3, 2, 1]


def test_restoring_what_is_live_changes_nothing() -> None:
    system = Editing()
    table = system.put(system.make(1), 2)
    restored = system.restore(table, 2)
    assert isinstance(restored, Table)
    assert restored.revision == 2


def test_a_restore_is_of_the_revision_that_was_seen() -> None:
    system = Editing()
    table = system.put(system.make(1), 2)
    with pytest.raises(ConflictError):
        system.restore(table, 1, if_revision=1)
    assert isinstance(system.restore(table, 1, if_revision=2), Table)


def test_a_change_that_is_refused_leaves_no_trace() -> None:
    system = Editing()
    table = system.make({"a": 1})
    before = system.memory.rows.version
    with pytest.raises(ConflictError):
        system.tables.replace(system.principal, table.id, 5, if_revision=9)
    with pytest.raises(NotFoundError):
        system.tables.replace(system.principal, table.id, 5, pointer="/no/way")
    system.put(table, {"a": 1})
    assert not system.memory.rows.pieces
    assert len(system.list(table)) == 1
    assert system.memory.rows.version == before


def test_what_another_program_overwrites_is_a_gap_with_a_name() -> None:
    system = Editing()
    table = system.put(system.make("one"), "two")
    system.by_sql(table, '"three"')
    system.put(table, "four")
    assert told(system.list(table)) == [
        (4, "put", None, "key:7"),
        (3, "sql", None, None),
        (2, "put", "overwritten_by_sql", "key:7"),
        (1, "create", None, "key:7"),
    ]
    assert system.document(table, 3) == "three"
    for refused in (system.document, system.restore):
        with pytest.raises(VersionNotRecordedError):
            refused(table, 2)
    with pytest.raises(VersionNotRecordedError):
        system.versions.label(system.principal, table.id, 2, "x")
    with pytest.raises(VersionNotRecordedError):
        system.compare(system.principal, table.id, 2, None, after=0)


def test_no_write_is_refused_because_its_past_is_too_large() -> None:
    system = Editing(recorded_bytes=50)
    table = system.put(system.make("x" * 60), "short")
    system.put(table, "shorter")
    assert [v.gap for v in system.list(table)] == [None, None, "too_large"]
    system.put(table, "y" * 60)
    system.tables.merge(system.principal, table.id, "z")
    assert [v.gap for v in system.list(table)][:2] == [None, "too_large"]


def test_no_write_is_refused_because_its_history_is_full() -> None:
    system = Editing()
    table = system.put(system.make(prose(200_000)), "now")
    system.limits.change(system.principal, lambda _: HistoryLimits(max_bytes=1_000))
    system.put(table, "and now")
    assert [v.gap for v in system.list(table)] == [None, "full", None]
    system.clean_up()
    system.put(table, "again")
    assert [(v.revision, v.gap) for v in system.list(table)] == [
        (4, None),
        (3, None),
        (2, "full"),
    ]


def test_a_version_of_a_table_that_was_there_before_has_no_cause() -> None:
    system = Editing()
    table = system.make("old")
    with system.store.for_all("test"):
        del system.memory.rows.versions[table.id, table.project_id, 1]
    assert told(system.list(table)) == [(1, None, None, None)]
    assert system.versions.read(system.principal, table.id, 1).is_live
    system.put(table, "new")
    assert told(system.list(table)) == [(2, "put", None, "key:7"), (1, None, None, None)]
    assert system.document(table, 1) == "old"


def test_a_value_of_a_version_is_read_by_its_pointer() -> None:
    system = Editing()
    table = system.put(system.make({"a": [{"b/c": "deep"}], "n": 1}), 1)
    assert system.document(table, 1, "/a/0/b~1c") == "deep"
    assert system.document(table, 2) == 1
    with pytest.raises(NotFoundError):
        system.document(table, 1, "/a/7")
    with pytest.raises(NotFoundError):
        system.document(table, 9)


def test_numbers_of_a_version_keep_their_digits() -> None:
    system = Editing()
    table = system.make(1)
    system.by_sql(table, '{"a": 1.10, "b": 12345678901234567890.5}')
    system.put(table, 2)
    text = system.versions.read_document(system.principal, table.id, 2, "/a")
    assert text == "1.10"


def test_what_does_not_fit_into_an_answer_is_read_in_parts_and_restored_by_a_worker() -> None:
    system = Editing()
    table = system.make({})
    system.by_sql(table, to_json(LARGE))
    system.put(table, "small")
    with pytest.raises(DocumentTooLargeError):
        system.document(table, 2)
    assert system.document(table, 2, "/a/3") == LARGE["a"][3]
    upload = system.restore(table, 2)
    assert isinstance(upload, Upload)
    assert (upload.state, upload.from_revision) == ("importing", 2)
    assert (upload.bytes or 0) > MAX_INLINE_BYTES
    system.work()
    done = system.uploads.read(system.principal, table.id, upload.id)
    assert (done.state, done.revision, done.last_error) == ("done", 4, None)
    with system.store.for_all("test") as work:
        assert work.tables.read(table.id)[1] == to_json(LARGE)
    assert told(system.list(table))[0] == (4, "restore", None, "key:7")


def test_a_large_document_is_overwritten_by_a_worker_so_that_it_is_recorded() -> None:
    system = Editing(recorded_bytes=1_000)
    table = system.put(system.make("small"), "x" * 2_000)
    assert isinstance(system.restore(table, 1), Upload)
    system.work()
    assert system.now(table) == "small"
    assert [v.gap for v in system.list(table)] == [None, None, None]


def test_a_worker_that_finds_the_version_erased_says_so() -> None:
    system = Editing(recorded_bytes=1_000)
    table = system.put(system.make("small"), "x" * 2_000)
    upload = system.restore(table, 1)
    assert isinstance(upload, Upload)
    system.versions.erase(system.principal, table.id, 1)
    system.work()
    failed = system.uploads.read(system.principal, table.id, upload.id)
    assert failed.state == "failed"
    assert (failed.last_error or {})["code"] == "VERSION_NOT_RECORDED"
    assert system.now(table) == "x" * 2_000


def test_labels_keep_versions_and_are_counted() -> None:
    system = Editing()
    table = system.make(0)
    for number in range(1, MAX_LABELS + 2):
        table = system.put(table, number)
    for revision in range(1, MAX_LABELS + 1):
        assert system.versions.label(system.principal, table.id, revision, "x").label == "x"
    with pytest.raises(TooManyLabelsError):
        system.versions.label(system.principal, table.id, table.revision, "x")
    system.versions.label(system.principal, table.id, 1, None)
    live = system.versions.label(system.principal, table.id, table.revision, "live")
    assert live.is_live
    system.put(table, "another")
    system.clock.advance(31 * DAY_S)
    system.clean_up()
    left = [v.revision for v in system.list(table)]
    assert left == [23, 22, *range(20, 1, -1)]
    assert system.document(table, 22) == MAX_LABELS + 1


def test_an_erased_version_is_gone_for_good() -> None:
    system = Editing()
    secret = prose(100_000)
    table = system.put(system.put(system.make(secret), "two"), "three")
    system.versions.label(system.principal, table.id, 1, "has a name in it")
    with pytest.raises(ConflictError):
        system.versions.erase(system.principal, table.id, 3)
    system.versions.erase(system.principal, table.id, 1)
    with pytest.raises(VersionNotRecordedError):
        system.document(table, 1)
    erased = system.versions.read(system.principal, table.id, 1)
    assert (erased.gap, erased.label, erased.size) == ("erased", None, None)
    system.clean_up()
    assert len(system.memory.rows.pieces) == 1
    system.versions.erase_all(system.principal, table.id)
    system.clean_up()
    assert not system.memory.rows.pieces
    assert system.now(table) == "three"


def test_a_history_that_is_off_shows_and_keeps_nothing() -> None:
    system = Editing()
    table = system.put(system.make("one"), "two")
    off = system.limits.change(system.principal, lambda _: HistoryLimits(keep_count=0))
    assert off.settings.is_off
    assert told(system.list(table)) == [(2, None, None, None)]
    with pytest.raises(NotFoundError):
        system.document(table, 1)
    with pytest.raises(VersionNotRecordedError):
        system.versions.label(system.principal, table.id, 2, "x")
    system.put(table, "three")
    assert system.document(table, 3) == "three"
    assert system.versions.page(system.principal, table.id, below=3).rows == []
    system.clean_up()
    assert not system.memory.rows.pieces
    assert not system.memory.rows.versions


def test_settings_change_at_the_version_that_was_seen() -> None:
    system = Editing()
    assert system.limits.read(system.principal).version == 0
    changed = system.limits.change(
        system.principal, lambda _: HistoryLimits(keep_days=3), if_versions=[0]
    )
    assert changed.version == 1
    assert system.limits.change(system.principal, lambda same: same).version == 1
    with pytest.raises(ConflictError):
        system.limits.change(system.principal, lambda same: same, if_versions=[0])


def test_a_strangers_table_has_no_versions() -> None:
    system = Editing()
    table = system.put(system.make("one"), "two")
    system.principal = ProjectKey(system.new_project())
    for refused in (system.list, lambda t: system.document(t, 1), lambda t: system.restore(t, 1)):
        with pytest.raises(NotFoundError):
            refused(table)


def test_pages_of_versions_go_on() -> None:
    system = Editing()
    table = system.make(0)
    for number in range(1, 103):
        table = system.put(table, number)
    first = system.versions.page(system.principal, table.id, below=None)
    assert [v.revision for v in first.rows] == [*range(103, 3, -1)]
    second = system.versions.page(system.principal, table.id, below=first.next_after)
    assert [v.revision for v in second.rows] == [3, 2, 1]
    assert second.next_after is None


def test_a_deleted_table_takes_its_past_with_it() -> None:
    system = Editing()
    table = system.put(system.make(prose(100_000)), "two")
    system.tables.delete(system.principal, table.id)
    system.clean_up()
    rows = system.memory.rows
    assert not rows.tables
    assert not rows.pieces
    assert not rows.versions
    assert not rows.histories


def test_a_damaged_version_is_never_shown() -> None:
    system = Editing()
    table = system.put(system.make("one"), "two")
    with system.store.for_all("test"):
        [(key, content)] = system.memory.rows.pieces.items()
        system.memory.rows.pieces[key] = content[:-1]
    with pytest.raises(VersionDamagedError):
        system.document(table, 1)


def test_versions_are_compared_page_by_page() -> None:
    system = Editing()
    many = {f"k{number}": number for number in range(DIFFERENCES_A_PAGE + 5)}
    table = system.put(system.make({}), many)
    first = system.compare(system.principal, table.id, 1, None, after=0)
    assert (first.older, first.newer, len(first.differences)) == (1, 2, DIFFERENCES_A_PAGE)
    rest = system.compare(system.principal, table.id, 1, 2, after=first.next_after or 0)
    found = [each.json_pointer for each in [*first.differences, *rest.differences]]
    assert found == [f"/k{number}" for number in range(DIFFERENCES_A_PAGE + 5)]
    assert rest.next_after is None
    assert system.compare(system.principal, table.id, 2, 2, after=0).differences == []


@dataclass
class WatchedStore:
    """A store that knows how its transactions ended."""

    store: Store
    errors: list[type[BaseException] | None] = field(default_factory=list)

    @contextmanager
    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> Iterator[UnitOfWork]:
        try:
            with self.store.for_project(project_id, deadline) as work:
                yield work
        except BaseException as error:
            self.errors.append(type(error))
            raise
        self.errors.append(None)

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        return self.store.for_all(reason, deadline)


def test_versions_are_parsed_when_the_transaction_has_ended() -> None:
    """What is too deep for that is noticed then."""
    system = Editing()
    table = system.make([])
    deep = "[" * 200_000 + "]" * 200_000
    with system.store.for_all("test") as work:
        before = work.versions.overwritten(
            table.id, project_id=table.project_id, max_bytes=len(deep)
        )
        changed = work.tables.replace(table.id, "[1]", expected_revision=None)
        assert changed is not None
        RecordVersions().record(work, changed, replace(before, text=deep))
    watched = WatchedStore(system.store)
    with pytest.raises(DocumentTooLargeError):
        CompareVersions(watched).compare(system.principal, table.id, 1, None, after=0)
    assert watched.errors == [None]


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.text(CHARACTERS, max_size=40)
    | st.integers(1, 3).map(lambda seed: prose(60_000, seed)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(st.lists(VALUES, min_size=2, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_recorded_version_comes_back_whatever_was_written(documents: list[object]) -> None:
    system = Editing()
    table = system.make(documents[0])
    texts = {1: to_json(documents[0])}
    for document in documents[1:]:
        table = system.put(table, document)
        texts.setdefault(table.revision, to_json(document))
    for version in system.list(table):
        if not version.is_live:
            text = system.versions.read_document(system.principal, table.id, version.revision, "")
            assert text == texts[version.revision]
    for revision, text in texts.items():
        restored = system.restore(table, revision)
        assert isinstance(restored, Table)
        with system.store.for_all("test") as work:
            assert work.tables.read(table.id)[1] == text
