"""Contract of ``Comparisons.note_refused``: why a table cannot be indexed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.model import Index, Table
from tests.contract.store.bench import TEXT, Bench
from tests.steps import SMALL

LARGE = {"code": "DOCUMENT_TOO_LARGE", "message": "too large", "retryable": False}
DEEP = {"code": "INVALID_DOCUMENT", "message": "too deep", "retryable": False}


class Shelf:
    """Tables of one project, all compared, and the index over them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        project = bench.project()
        self.tables = [bench.table({"a": 1}, project) for _ in range(3)]
        self.index = bench.project_index(project.id)
        for table in self.tables:
            self.mark(table)

    def mark(self, table: Table, index: Index | None = None) -> None:
        self.bench.work.comparisons.note_compared(index or self.index, table.id, 1, [""])

    def refuse(self, table: Table, error: dict[str, object]) -> None:
        self.bench.pass_time(1)
        self.bench.work.comparisons.note_refused(self.index.id, table.id, error)

    def reported(self, index: Index | None = None) -> list[tuple[object, object]]:
        """Table and code of each reason, the latest first."""
        seen = index or self.index
        progress = self.bench.work.node_counts.progress(seen, "", silent_s=999)
        status = self.bench.work.node_counts.state(seen, "", silent_s=999).status
        assert progress.status == status == ("error" if progress.refused else "ready")
        assert progress.last_error == (progress.refused[0] if progress.refused else None)
        return [(error["table_id"], error["code"]) for error in progress.refused]


@pytest.fixture
def shelf(bench: Bench) -> Shelf:
    return Shelf(bench)


def test_each_table_has_a_reason_of_its_own_until_it_is_compared_again(shelf: Shelf) -> None:
    one, other, third = shelf.tables
    assert shelf.reported() == []
    shelf.refuse(one, {**LARGE})
    shelf.refuse(other, {**DEEP})
    both = [(other.id, "INVALID_DOCUMENT"), (one.id, "DOCUMENT_TOO_LARGE")]
    assert shelf.reported() == both
    shelf.mark(third)
    assert shelf.reported() == both
    shelf.mark(other)
    assert shelf.reported() == both[1:]
    shelf.refuse(one, {**DEEP})
    assert shelf.reported() == [(one.id, "INVALID_DOCUMENT")]
    shelf.mark(one)
    assert shelf.reported() == []


def test_a_table_that_is_gone_takes_its_reason_with_it(shelf: Shelf, bench: Bench) -> None:
    one, other, _ = shelf.tables
    shelf.refuse(one, {**LARGE})
    shelf.refuse(other, {**LARGE})
    bench.delete(one)
    assert shelf.reported() == [(other.id, "DOCUMENT_TOO_LARGE")]
    bench.put_away(other)
    assert shelf.reported() == []
    bench.put_away(other, back=True)
    assert shelf.reported() == [(other.id, "DOCUMENT_TOO_LARGE")]


def test_a_failure_that_passes_hides_no_reason_and_ends_alone(shelf: Shelf, bench: Bench) -> None:
    one, other, _ = shelf.tables
    shelf.refuse(one, {**LARGE})
    bench.change(other, {"a": TEXT})
    bench.work.comparisons.note_failed(
        shelf.index.id, {"code": "X", "message": "x", "retryable": True}
    )
    reported = bench.work.node_counts.progress(shelf.index, "", silent_s=999)
    assert (reported.status, reported.last_error) == ("indexing", reported.refused[0])
    bench.work.comparisons.note_compared(shelf.index, other.id, 2, [""])
    assert bench.work.comparisons.follows(shelf.index.id)
    assert shelf.reported() == [(one.id, "DOCUMENT_TOO_LARGE")]


def test_generations_that_follow_the_document_are_refused_together(
    shelf: Shelf, bench: Bench
) -> None:
    one, *_ = shelf.tables
    building = bench.work.indexes.start_rebuild(
        shelf.index, replace(SMALL, chunk_size=50), at_once=2
    )
    for table in shelf.tables:
        shelf.mark(table, building)
    shelf.refuse(one, {**LARGE})
    seen = [
        bench.work.node_counts.progress(each, "", silent_s=999).refused[0]["table_id"]
        for each in (shelf.index, building)
    ]
    assert seen == [one.id, one.id]
