"""A version is restored: at once, by a worker, and whatever was written."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.uploads import Upload
from context_search.catalog.uploads import find_upload
from context_search.core.errors import ConflictError, DocumentTooLargeError
from context_search.core.json_text import to_json
from context_search.core.limits import MAX_INLINE_BYTES
from context_search.core.model import Table
from tests.catalog.history import Editing, reported, text_at
from tests.contract.store.bench import PostgresBench
from tests.profile import examples
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


def test_a_restore_is_of_the_revision_that_was_seen() -> None:
    system = Editing()
    table = system.put(system.make(1), 2)
    with pytest.raises(ConflictError):
        system.restore(table, 1, if_revision=1)
    assert isinstance(system.restore(table, 1, if_revision=2), Table)


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
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
def test_every_recorded_version_comes_back_whatever_was_written(documents: list[object]) -> None:
    system = Editing()
    table = system.make(documents[0])
    texts = {1: to_json(documents[0])}
    for document in documents[1:]:
        table = system.put(table, document)
        texts.setdefault(table.revision, to_json(document))
    for version in system.list(table):
        if not version.is_live:
            assert text_at(system.store, table, version.revision) == texts[version.revision]
    for revision, text in texts.items():
        restored = system.restore(table, revision)
        assert isinstance(restored, Table)
        with system.store.for_all("test") as work:
            assert work.tables.read(table.id)[1] == text
