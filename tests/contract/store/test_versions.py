"""Versions of tables: what is recorded and read."""

from __future__ import annotations

import hashlib

import pytest

from context_search.catalog.rules.pieces import cut, joined
from context_search.catalog.rules.versions import (
    HistoryLimits,
    Origin,
    Overwritten,
)
from context_search.core.errors import NotFoundError
from tests.contract.store.bench import Bench
from tests.contract.store.recorded import LONG, PUT, keep, pieces_of, read, record, versions, write


def test_every_revision_has_a_version_that_says_where_it_comes_from(bench: Bench) -> None:
    project = bench.work.projects.add("p")
    created = Origin("create", "key:1", "first")
    table = bench.work.tables.add(project.id, "t", None, "{}", origin=created)
    changed = bench.change(write(bench, table, '{"a": 1}'), {"a": 2})
    found = versions(bench, changed)
    assert [(v.revision, v.cause, v.actor, v.request_id) for v in found] == [
        (3, "sql", None, None),
        (2, "put", "key:7", "a-request"),
        (1, "create", "key:1", "first"),
    ]
    assert [v.is_live for v in found] == [True, False, False]
    assert [v.gap for v in found] == [None, "overwritten_by_sql", None]
    assert all(v.created_at is not None for v in found)
    assert [v.overwritten_at is None for v in found] == [True, True, False]


def test_a_write_that_changes_nothing_is_no_version(bench: Bench) -> None:
    table = bench.table({"a": 1})
    bench.work.tables.replace(table.id, '{"a":1.0}', expected_revision=None, origin=PUT)
    assert [v.cause for v in versions(bench, table)] == ["sql"]


def test_an_origin_is_that_of_one_table(bench: Bench) -> None:
    one, other = bench.table({}), bench.table({})
    bench.work.tables.replace(one.id, "1", expected_revision=None, origin=PUT)
    bench.work.tables.replace(other.id, "2", expected_revision=None)
    assert [v.cause for v in versions(bench, other)] == ["sql", "sql"]


def test_what_is_overwritten_is_there_byte_for_byte(bench: Bench) -> None:
    table = bench.table(LONG)
    text = bench.work.tables.read(table.id)[1]
    changed = write(bench, table, "[]")
    [live, version] = versions(bench, changed)
    assert live.is_live
    assert version.size == len(text.encode())
    assert version.sha256 == hashlib.sha256(text.encode()).digest()
    assert read(bench, changed, 1) == text


def test_pieces_are_stored_once_for_all_versions_of_a_table(bench: Bench) -> None:
    table = bench.table(LONG)
    table = write(bench, table, '"another"')
    first = pieces_of(bench, table)
    with bench.store.for_all("test") as work:
        version = work.versions.find(table, 1)
        assert version is not None
        assert version.sha256
        long = cut(joined(work.versions.pieces(table, 1, first=0, count=99), version.sha256))
        assert work.versions.missing(table, list(long.pieces)) == set()
        assert work.versions.missing(table, [b"x" * 32]) == {b"x" * 32}
        again = [(name, b"not this") for name in long.pieces]
        work.versions.record(table, 1, long.content, again)
    assert pieces_of(bench, table) == first


def test_another_table_shares_no_piece(bench: Bench) -> None:
    project = bench.project()
    table = write(bench, bench.table(LONG, project), "1")
    other = bench.table(LONG, project)
    names = list(cut(bench.work.tables.read(other.id)[1]).pieces)
    assert bench.work.versions.missing(other, names) == set(names)
    assert pieces_of(bench, other) == pieces_of(bench, table) > 0


def test_the_document_before_a_change_is_measured_and_locked(bench: Bench) -> None:
    table = bench.table({"a": "x" * 100})

    def before(max_bytes: int) -> Overwritten:
        return bench.work.versions.overwritten(
            table.id, project_id=table.project_id, max_bytes=max_bytes
        )

    small, whole = before(20), before(1_000)
    assert (small.revision, small.text, small.used_bytes) == (1, None, 0)
    assert small.settings == HistoryLimits()
    assert whole.text is not None
    assert "x" * 100 in whole.text
    keep(bench, table.project_id, keep_count=0)
    assert before(1_000).text is None


def test_a_table_that_is_gone_has_nothing_to_overwrite(bench: Bench) -> None:
    table, other = bench.table({}), bench.table({})

    def refused(project_id: int) -> None:
        with pytest.raises(NotFoundError), bench.store.for_all("test") as work:
            work.versions.overwritten(table.id, project_id=project_id, max_bytes=1_000)

    refused(other.project_id)
    bench.delete(table)
    refused(table.project_id)
    [removal] = bench.work.removals.due(limit=1)
    assert bench.work.removals.remove(removal) == "removed"
    refused(table.project_id)


def test_a_gap_has_its_reason_until_the_revision_is_recorded(bench: Bench) -> None:
    table = bench.change(bench.table({}), {"a": 1})
    bench.work.versions.note_gap(table, 1, "too_large")
    assert [v.gap for v in versions(bench, table)] == [None, "too_large"]
    with bench.store.for_all("test") as work:
        record(work, table, 1, "{}")
    assert [v.gap for v in versions(bench, table)] == [None, None]


def test_pages_go_on_below_a_revision(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 6):
        table = bench.change(table, number)
    first = bench.work.versions.page(table, below=None, limit=4)
    rest = bench.work.versions.page(table, below=first[-1].revision, limit=4)
    assert bench.work.versions.find(table, 9) is None
    assert [v.revision for v in first + rest] == [6, 5, 4, 3, 2, 1]


def test_another_project_sees_no_version_of_a_table_that_moves_to_it(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), "1")
    to = bench.project()
    bench.move(table, to.id)
    with bench.store.for_all("test") as work:
        moved = work.tables.find(table.id, project_id=to.id)
        assert moved is not None
        assert work.versions.find(moved, 1) is None
        assert work.versions.pieces(moved, 1, first=0, count=9) == []
    again = write(bench, moved, '"after"')
    assert [(v.revision, v.cause) for v in versions(bench, again)] == [(3, "put"), (2, None)]
    assert read(bench, again, 2) == "1"


def test_an_origin_ends_with_its_transaction(bench: Bench) -> None:
    table = bench.table(0)

    def interrupted() -> None:
        with bench.store.for_all("test") as work:
            work.tables.replace(table.id, "1", expected_revision=None, origin=PUT)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    bench.change(table, 2)
    assert [v.cause for v in versions(bench, table)] == ["sql", "sql"]
