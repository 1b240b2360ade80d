"""What every change records, and how it is read."""

from __future__ import annotations

import pytest

from context_search.catalog.rules.uploads import NewUpload
from context_search.catalog.versions import find_version
from context_search.core.errors import (
    ConflictError,
    NotFoundError,
    VersionDamagedError,
)
from context_search.core.model import Table
from tests.catalog.history import Editing, reported, text_at, versions_of
from tests.contract.store.bench import PostgresBench


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
    before = system.memory.rows.version
    with pytest.raises(ConflictError):
        system.tables.replace(system.principal, table.id, 5, if_revision=9)
    with pytest.raises(NotFoundError):
        system.tables.replace(system.principal, table.id, 5, pointer="/no/way")
    system.put(table, {"a": 1})
    assert not system.memory.rows.pieces
    assert len(system.list(table)) == 1
    assert system.memory.rows.version == before


def test_no_write_is_refused_because_its_past_is_too_large() -> None:
    system = Editing(recorded_bytes=50)
    table = system.put(system.make("x" * 60), "short")
    system.put(table, "shorter")
    assert [v.gap for v in system.list(table)] == [None, None, "too_large"]
    system.put(table, "y" * 60)
    system.tables.merge(system.principal, table.id, "z")
    assert [v.gap for v in system.list(table)][:2] == [None, "too_large"]


def test_a_version_of_a_table_that_was_there_before_has_no_cause() -> None:
    system = Editing()
    table = system.make("old")
    with system.store.for_all("test"):
        del system.memory.rows.versions[table.id, table.project_id, 1]
    assert reported(system.list(table)) == [(1, None, None, None)]
    with system.store.for_project(table.project_id) as work:
        assert find_version(work, table, 1).is_live
    system.put(table, "new")
    assert reported(system.list(table)) == [(2, "put", None, "key:7"), (1, None, None, None)]
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
    assert text_at(system.store, table, 2, "/a") == "1.10"


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
        [(key, content)] = system.memory.rows.pieces.items()
        system.memory.rows.pieces[key] = content[:-1]
    with pytest.raises(VersionDamagedError):
        system.document(table, 1)
