"""A version is restored: at once, by a worker, and whatever was written."""

from __future__ import annotations

import json

import pytest

from context_search.catalog.rules.uploads import Upload
from context_search.core.errors import DocumentTooLargeError
from context_search.core.json_text import to_json
from context_search.core.limits import MAX_INLINE_BYTES
from context_search.core.model import Table
from tests.catalog.history import Editing, reported
from tests.contract.store.bench import PostgresBench
from tests.system import prose

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
    done = system.uploads.read(system.principal, table.id, upload.id)
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
    failed = system.uploads.read(system.principal, table.id, upload.id)
    assert failed.state == "failed"
    assert (failed.last_error or {})["code"] == "VERSION_NOT_RECORDED"
    assert system.now(table) == "x" * 2_000
