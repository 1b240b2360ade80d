"""What every change records, and how it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

import pytest

from context_search.catalog.rules.uploads import NewUpload, Upload
from context_search.catalog.rules.versions import MAX_LABELS, HistoryLimits
from context_search.catalog.uploads import find_upload
from context_search.catalog.versions import (
    DIFFERENCES_A_PAGE,
    CompareVersions,
    RecordVersions,
    find_version,
)
from context_search.core.errors import (
    ConflictError,
    DocumentTooLargeError,
    NotFoundError,
    TooManyLabelsError,
    VersionDamagedError,
)
from context_search.core.json_text import to_json
from context_search.core.limits import MAX_INLINE_BYTES
from context_search.core.model import Table
from context_search.store import UnitOfWork
from tests.catalog.history import Editing, reported, versions_of
from tests.contract.store.bench import PostgresBench
from tests.stores import StoreInFront
from tests.system import prose


def test_each_way_of_changing_records_what_it_overwrites(bench: PostgresBench) -> None:
    system = Editing(store=bench.store)
    table = system.make({"a": [1]})
    system.put(table, {"a": [1, 2]})
    system.tables.replace(system.principal, table.id, 3, pointer="/a/-", request_id="added")
    system.tables.merge(system.principal, table.id, {"b": 1})
    system.tables.remove(system.principal, table.id, pointer="/b")
    document = b'{"a": "uploaded"}'
    project_id = system.principal.project_id
    new = NewUpload(project_id, table.id, "json", size=len(document), actor="key:7")
    upload, signed = system.uploads.create(system.principal, new)
    system.objects.contents[signed.url] = document
    system.uploads.complete(system.principal, table.id, upload.id)
    system.work()
    assert isinstance(system.restore(table, 1), Table)
    by = "key:7"
    assert reported(system.list(table)) == [
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


def test_a_change_that_is_refused_leaves_no_trace() -> None:
    system = Editing()
    table = system.make({"a": 1})
    before = system.model_store.rows.version
    with pytest.raises(ConflictError):
        system.tables.replace(system.principal, table.id, 5, if_revision=9)
    with pytest.raises(NotFoundError):
        system.tables.replace(system.principal, table.id, 5, pointer="/no/way")
    system.put(table, {"a": 1})
    assert not system.model_store.rows.pieces
    assert len(system.list(table)) == 1
    assert system.model_store.rows.version == before


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
    assert [(v.revision, v.gap) for v in system.list(table)] == [(4, None), (3, None), (2, "full")]


def test_a_version_of_a_table_that_was_there_before_has_no_cause() -> None:
    system = Editing()
    table = system.make("old")
    with system.store.for_all("test"):
        del system.model_store.rows.versions[table.id, table.project_id, 1]
    assert reported(system.list(table)) == [(1, None, None, None)]
    with system.store.for_project(table.project_id) as work:
        assert find_version(work, table, 1).is_live
    system.put(table, "new")
    assert reported(system.list(table)) == [(2, "put", None, "key:7"), (1, None, None, None)]
    assert system.document(table, 1) == "old"


def test_pages_of_versions_go_on() -> None:
    system = Editing()
    table = system.make(0)
    for number in range(1, 103):
        table = system.put(table, number)
    first = versions_of(system.store, table)
    assert [v.revision for v in first.rows] == [*range(103, 3, -1)]
    second = versions_of(system.store, table, first.next_after)
    assert [v.revision for v in second.rows] == [3, 2, 1]
    assert second.next_after is None


def test_a_damaged_version_is_never_shown() -> None:
    system = Editing()
    table = system.put(system.make("one"), "two")
    with system.store.for_all("test"):
        [(key, content)] = system.model_store.rows.pieces.items()
        system.model_store.rows.pieces[key] = content[:-1]
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
class WatchedStore(StoreInFront):
    """A store that knows how its transactions ended."""

    errors: list[type[BaseException] | None] = field(default_factory=list)

    @contextmanager
    def around(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        try:
            with opened as work:
                yield work
        except BaseException as error:
            self.errors.append(type(error))
            raise
        self.errors.append(None)


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
    assert set(watched.errors) == {None}


LARGE = {"a": [f"{number}. {prose(9_000)}" for number in range(800)]}
"""Too large for a request."""


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


def test_what_does_not_fit_into_an_answer_is_read_in_parts_and_restored_by_a_worker(
    bench: PostgresBench,
) -> None:
    system = Editing(store=bench.store)
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
    with system.store.for_project(table.project_id) as work:
        done = find_upload(work, system.principal, table.id, upload.id)
    assert (done.state, done.revision, done.last_error) == ("done", 4, None)
    with system.store.for_all("test") as work:
        assert json.loads(work.tables.read(table.id)[1]) == LARGE
    assert reported(system.list(table))[0] == (4, "restore", None, "key:7")


def test_a_large_document_is_overwritten_by_a_worker_so_that_it_is_recorded(
    bench: PostgresBench,
) -> None:
    system = Editing(recorded_bytes=1_000, store=bench.store)
    table = system.put(system.make("small"), "x" * 2_000)
    assert isinstance(system.restore(table, 1), Upload)
    system.work()
    assert system.now(table) == "small"
    assert [v.gap for v in system.list(table)] == [None, None, None]


def test_a_worker_that_finds_the_version_erased_says_so(bench: PostgresBench) -> None:
    system = Editing(recorded_bytes=1_000, store=bench.store)
    table = system.put(system.make("small"), "x" * 2_000)
    upload = system.restore(table, 1)
    assert isinstance(upload, Upload)
    system.versions.erase(system.principal, table.id, 1)
    system.work()
    with system.store.for_project(table.project_id) as work:
        failed = find_upload(work, system.principal, table.id, upload.id)
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
    system.clock.advance(31 * 86_400)
    system.clean_up()
    left = [v.revision for v in system.list(table)]
    assert left == [23, 22, *range(20, 1, -1)]
    assert system.document(table, 22) == MAX_LABELS + 1
