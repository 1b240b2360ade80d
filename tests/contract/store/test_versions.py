"""Versions of tables: what is recorded, read, labelled, erased and pruned."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from context_search.domain.editing.pieces import cut, joined, packed
from context_search.domain.editing.plans import NewPlan, Plan, PlannedTable, ReplaceScope
from context_search.domain.errors import NotFoundError
from context_search.domain.versions import (
    MAX_LABELS,
    HistoryLimits,
    Origin,
    Overwritten,
    StoredHistoryLimits,
    Version,
)
from context_search.ports.editing.histories import TableHistory
from context_search.ports.editing.versions import Pruned

if TYPE_CHECKING:
    from context_search.domain.model import Table
    from tests.contract.store.bench import Bench

DAY_S = 86_400.0
PUT = Origin("put", "key:7", "a-request")
LONG = [f"A sentence that is not like the others, number {number}." for number in range(9_000)]


def write(bench: Bench, table: Table, text: str, *, by: Origin = PUT) -> Table:
    """Writes a document as our API does: what it overwrites is recorded."""
    with bench.store.for_all("test") as work:
        before = work.versions.overwritten(table.id, project_id=table.project_id, max_bytes=10**9)
        changed = work.tables.replace(table.id, text, expected_revision=None, origin=by)
        assert changed is not None
        if before.text is not None:
            record(bench, changed, before.revision, before.text, work)
        return changed


def record(bench: Bench, table: Table, revision: int, text: str, work: object) -> None:
    """Records a text as the content of a revision."""
    pieces = cut(text)
    missing = work.versions.missing(table, list(pieces.pieces))  # type: ignore[attr-defined]
    new = [(name, packed(piece)) for name, piece in pieces.pieces.items() if name in missing]
    work.versions.record(table, revision, pieces.content, new)  # type: ignore[attr-defined]


def versions(bench: Bench, table: Table) -> list[Version]:
    """Returns all versions, the newest first."""
    with bench.store.for_all("test") as work:
        return work.versions.page(table, below=None, limit=1_000)


def read(bench: Bench, table: Table, revision: int) -> str:
    """Returns the text of a recorded version."""
    with bench.store.for_all("test") as work:
        version = work.versions.find(table, revision)
        assert version is not None
        assert version.sha256 is not None
        return joined(work.versions.pieces(table, revision, first=0, count=1_000), version.sha256)


def prune(bench: Bench, limit: int = 1_000) -> Pruned:
    """Prunes every history that is due once."""
    with bench.store.for_all("test") as work:
        pruned = [work.histories.prune(each, limit=limit) for each in work.histories.due(limit=99)]
    return Pruned(
        sum(each.versions for each in pruned),
        sum(each.pieces for each in pruned),
        all(each.is_done for each in pruned),
    )


def keep(bench: Bench, project_id: int, **settings: int) -> None:
    """Changes how much is kept."""
    with bench.store.for_all("test") as work:
        stored = work.history_settings.lock(project_id)
        work.history_settings.write(project_id, HistoryLimits(**settings))
        assert work.history_settings.read(project_id).version == stored.version + 1


def pieces_of(bench: Bench, table: Table) -> int:
    """Returns how many bytes the pieces of a project take."""
    with bench.store.for_all("test") as work:
        return work.versions.overwritten(
            table.id, project_id=table.project_id, max_bytes=0
        ).used_bytes


def test_every_revision_has_a_version_that_says_where_it_comes_from(bench: Bench) -> None:
    with bench.store.for_all("test") as work:
        project = work.projects.add("p")
        created = Origin("create", "key:1", "first")
        table = work.tables.add(project.id, "t", None, "{}", origin=created)
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
    with bench.store.for_all("test") as work:
        work.tables.replace(table.id, '{"a":1.0}', expected_revision=None, origin=PUT)
    assert [v.cause for v in versions(bench, table)] == ["sql"]


def test_an_origin_is_that_of_one_table(bench: Bench) -> None:
    one, other = bench.table({}), bench.table({})
    with bench.store.for_all("test") as work:
        work.tables.replace(one.id, "1", expected_revision=None, origin=PUT)
        work.tables.replace(other.id, "2", expected_revision=None)
    assert [v.cause for v in versions(bench, other)] == ["sql", "sql"]


def test_what_is_overwritten_is_there_byte_for_byte(bench: Bench) -> None:
    table = bench.table(LONG)
    with bench.store.for_all("test") as work:
        text = work.tables.read(table.id)[1]
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
        long = cut(joined(work.versions.pieces(table, 1, first=0, count=99), cut_sha(work, table)))
        assert work.versions.missing(table, list(long.pieces)) == set()
        assert work.versions.missing(table, [b"x" * 32]) == {b"x" * 32}
        again = [(name, b"not this") for name in long.pieces]
        work.versions.record(table, 1, long.content, again)
    assert pieces_of(bench, table) == first


def cut_sha(work: object, table: Table) -> bytes:
    """Returns the hash of the first version."""
    version = work.versions.find(table, 1)  # type: ignore[attr-defined]
    assert version.sha256
    return version.sha256  # type: ignore[no-any-return]


def test_another_table_shares_no_piece(bench: Bench) -> None:
    project = bench.project()
    table = write(bench, bench.table(LONG, project), "1")
    other = bench.table(LONG, project)
    with bench.store.for_all("test") as work:
        names = list(cut(work.tables.read(other.id)[1]).pieces)
        assert work.versions.missing(other, names) == set(names)
    assert pieces_of(bench, other) == pieces_of(bench, table) > 0


def test_the_document_before_a_change_is_measured_and_locked(bench: Bench) -> None:
    table = bench.table({"a": "x" * 100})

    def before(max_bytes: int | None) -> Overwritten:
        with bench.store.for_all("test") as work:
            return work.versions.overwritten(
                table.id, project_id=table.project_id, max_bytes=max_bytes
            )

    small, whole = before(20), before(None)
    assert (small.revision, small.text, small.used_bytes) == (1, None, 0)
    assert small.settings == HistoryLimits()
    assert whole.text is not None
    assert "x" * 100 in whole.text
    keep(bench, table.project_id, keep_count=0)
    assert (before(1_000).text, before(None).text) == (None, whole.text)


def test_a_table_that_is_gone_has_nothing_to_overwrite(bench: Bench) -> None:
    table, other = bench.table({}), bench.table({})

    def refused(project_id: int) -> None:
        with pytest.raises(NotFoundError), bench.store.for_all("test") as work:
            work.versions.overwritten(table.id, project_id=project_id, max_bytes=None)

    refused(other.project_id)
    bench.delete(table)
    refused(table.project_id)
    with bench.store.for_all("test") as work:
        [removal] = work.removals.due(limit=1)
        assert work.removals.remove(removal) == "removed"
    refused(table.project_id)


def test_a_gap_has_its_reason_until_the_revision_is_recorded(bench: Bench) -> None:
    table = bench.change(bench.table({}), {"a": 1})
    with bench.store.for_all("test") as work:
        work.versions.note_gap(table, 1, "too_large")
    assert [v.gap for v in versions(bench, table)] == [None, "too_large"]
    with bench.store.for_all("test") as work:
        record(bench, table, 1, "{}", work)
    assert [v.gap for v in versions(bench, table)] == [None, None]


def test_pages_go_on_below_a_revision(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 6):
        table = bench.change(table, number)
    with bench.store.for_all("test") as work:
        first = work.versions.page(table, below=None, limit=4)
        rest = work.versions.page(table, below=first[-1].revision, limit=4)
        assert work.versions.find(table, 9) is None
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


def test_a_label_keeps_a_version_and_twenty_of_them_are_enough(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, MAX_LABELS + 2):
        table = write(bench, table, str(number))
    with bench.store.for_all("test") as work:
        done = [work.versions.label(table, n, f"label {n}") for n in range(1, MAX_LABELS + 2)]
        assert done == [True] * MAX_LABELS + [False]
        assert work.versions.label(table, 1, "another")
        assert work.versions.label(table, 2, None)
        assert work.versions.label(table, MAX_LABELS + 1, "now")
    keep(bench, table.project_id, keep_count=1)
    prune(bench)
    left = [(v.revision, v.label) for v in versions(bench, table) if v.label]
    assert left[0] == (21, "now")
    assert left[-1] == (1, "another")
    assert len(left) == MAX_LABELS


def test_erased_content_is_gone_and_the_version_says_so(bench: Bench) -> None:
    table = write(bench, write(bench, bench.table(LONG), '"two"'), '"three"')
    with bench.store.for_all("test") as work:
        work.versions.label(table, 1, "a name")
        work.versions.erase(table, 1)
        work.versions.erase(table, 3)  # live
    told = [(v.revision, v.gap, v.label, v.size) for v in versions(bench, table)]
    assert told == [(3, None, None, None), (2, None, None, 5), (1, "erased", None, None)]
    with bench.store.for_all("test") as work:
        assert work.versions.pieces(table, 1, first=0, count=9) == []
    assert prune(bench).pieces > 1
    assert read(bench, table, 2) == '"two"'
    with bench.store.for_all("test") as work:
        work.versions.erase(table)
    assert [v.gap for v in versions(bench, table)] == [None, "erased", "erased"]
    assert prune(bench).pieces == 1
    assert pieces_of(bench, table) == 0


def test_versions_leave_a_month_after_they_were_overwritten(bench: Bench) -> None:
    table = bench.table(0)
    bench.pass_time(40 * DAY_S)
    table = write(bench, table, "1")
    assert prune(bench).versions == 0
    bench.pass_time(29 * DAY_S)
    table = write(bench, table, "2")
    bench.pass_time(2 * DAY_S)
    assert prune(bench) == Pruned(1, 1)
    assert [v.revision for v in versions(bench, table)] == [3, 2]
    assert prune(bench) == Pruned()


def test_what_another_program_wrote_leaves_too(bench: Bench) -> None:
    table = bench.change(bench.table(0), 1)
    bench.pass_time(31 * DAY_S)
    assert prune(bench).versions == 1
    assert [v.revision for v in versions(bench, table)] == [2]


def test_so_many_versions_stay_and_gaps_push_none_of_them_out(bench: Bench) -> None:
    table = bench.table(0)
    keep(bench, table.project_id, keep_count=2)
    for number in range(1, 5):
        table = write(bench, table, str(number))
    for number in range(5, 9):
        table = bench.change(table, number)
    prune(bench)
    found = [(v.revision, v.gap) for v in versions(bench, table)]
    sql = "overwritten_by_sql"
    assert found == [(9, None), (8, sql), (7, sql), (4, None), (3, None)]


def test_the_oldest_leave_while_a_project_keeps_too_much(bench: Bench) -> None:
    one = write(bench, bench.table(LONG), '"a"')
    other = write(bench, bench.table([LONG, 1]), '"b"')
    used = pieces_of(bench, one)
    keep(bench, one.project_id, max_bytes=used - 1)
    with bench.store.for_all("test") as work:
        assert work.histories.over_limit(limit=9) == [one.project_id]
        assert work.histories.expire_oldest(one.project_id) == 1
    prune(bench)
    with bench.store.for_all("test") as work:
        assert work.histories.over_limit(limit=9) == []
    assert [v.revision for v in versions(bench, one)] == [2]
    assert [v.revision for v in versions(bench, other)] == [2, 1]


def test_the_project_that_keeps_most_too_much_is_first_and_none_stands_in_its_way(
    bench: Bench,
) -> None:
    tables = []
    for most in (3, 1, 2, 4):
        table = write(bench, bench.table(LONG, bench.project()), '"a"')
        keep(bench, table.project_id, max_bytes=most)
        tables.append(table)
    labelled = tables[1]
    with bench.store.for_all("test") as work:
        work.versions.label(labelled, 1, "mine")
        expected = [tables[at].project_id for at in (2, 0, 3)]
        assert work.histories.over_limit(limit=9) == expected
        assert work.histories.over_limit(limit=1) == expected[:1]


def test_what_was_written_meanwhile_is_erased_with_the_rest(bench: Bench) -> None:
    read_before = bench.table(LONG)
    for text in ('"a"', '"b"'):
        table = write(bench, read_before, text)
    with bench.store.for_all("test") as work:
        work.versions.erase(read_before)
    assert [(v.revision, v.gap, v.is_live) for v in versions(bench, table)] == [
        (3, None, True),
        (2, "erased", False),
        (1, "erased", False),
    ]


def test_a_labelled_version_stays_whatever_it_takes(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), '"a"')
    with bench.store.for_all("test") as work:
        work.versions.label(table, 1, "mine")
    keep(bench, table.project_id, max_bytes=1)
    with bench.store.for_all("test") as work:
        assert work.histories.expire_oldest(table.project_id) == 0
    prune(bench)
    assert read(bench, table, 1)


def replaced(bench: Bench, table: Table, revision: int, *, days: int = 30) -> Plan:
    """A plan that replaced a revision and can be undone for so many days."""
    new = NewPlan(table.project_id, None, ReplaceScope(), b"", "", lifetime_s=60, actor=None)
    with bench.store.for_all("test") as work:
        plan = work.plans.add(new)
        assert plan is not None
        until = plan.created_at + timedelta(days=days)
        work.plans.save(replace(plan, state="done", undo_until=until))
        done = PlannedTable(table.id, revision, 1, 1, state="done", revision_before=revision)
        work.plans.add_tables(plan.id, [done])
    return plan


def test_what_a_plan_replaced_that_can_be_undone_is_never_too_much(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 5):
        table = write(bench, table, str(number))
    plan = replaced(bench, table, 2)
    replaced(bench, bench.table(0), 1)
    keep(bench, table.project_id, keep_count=1, max_bytes=1)
    assert prune(bench).versions == 2
    assert [v.revision for v in versions(bench, table)] == [5, 4, 2]
    with bench.store.for_all("test") as work:
        assert work.histories.over_limit(limit=9) == [table.project_id]
        assert work.histories.expire_oldest(table.project_id) == 1
        assert work.histories.over_limit(limit=9) == []
        assert work.histories.expire_oldest(table.project_id) == 0
    assert [v.revision for v in versions(bench, table)] == [5, 2]
    undo = NewPlan(
        table.project_id, None, ReplaceScope(), b"", "", lifetime_s=60, actor=None, undoes=plan.id
    )
    with bench.store.for_all("test") as work:
        begun = work.plans.add(undo)
        assert begun is not None
        # It may fail, and the plan can be undone again.
        assert work.histories.expire_oldest(table.project_id) == 0
        work.plans.save(replace(begun, state="done"))
        assert work.histories.expire_oldest(table.project_id) == 1
    assert [v.revision for v in versions(bench, table)] == [5]


def test_what_a_plan_has_replaced_so_far_is_never_too_much(bench: Bench) -> None:
    table = write(bench, write(bench, bench.table(0), "1"), "2")
    plan = replaced(bench, table, 1)
    with bench.store.for_all("test") as work:
        work.plans.save(replace(plan, state="executing", undo_until=None))
    keep(bench, table.project_id, keep_count=1, max_bytes=1)
    prune(bench)
    with bench.store.for_all("test") as work:
        assert work.histories.expire_oldest(table.project_id) == 1
    assert [v.revision for v in versions(bench, table)] == [3, 1]


def test_what_a_plan_replaced_goes_when_it_cannot_be_undone_any_more(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 4):
        table = write(bench, table, str(number))
    replaced(bench, table, 1, days=10)
    keep(bench, table.project_id, keep_count=1)
    prune(bench)
    assert [v.revision for v in versions(bench, table)] == [4, 3, 1]
    bench.pass_time(11 * DAY_S)
    write(bench, table, "4")
    prune(bench)
    assert [v.revision for v in versions(bench, table)] == [5, 4]


def test_what_a_plan_replaced_grows_too_old_like_all_others(bench: Bench) -> None:
    table = write(bench, bench.table(0), "1")
    replaced(bench, table, 1, days=60)
    bench.pass_time(31 * DAY_S)
    prune(bench)
    assert [v.revision for v in versions(bench, table)] == [2]


def test_a_history_that_is_switched_off_is_deleted_and_records_nothing(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), "1")
    with bench.store.for_all("test") as work:
        work.versions.label(table, 1, "mine")
    keep(bench, table.project_id, keep_count=0)
    assert prune(bench).versions == 2
    assert versions(bench, bench.change(table, 2)) == []
    assert pieces_of(bench, table) == 0


def test_a_large_history_is_pruned_in_steps(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 6):
        table = write(bench, table, str(number))
    keep(bench, table.project_id, keep_count=0)
    assert prune(bench, limit=4) == Pruned(4, 4, is_done=False)
    assert prune(bench, limit=4) == Pruned(2, 1, is_done=True)
    assert prune(bench) == Pruned()


def test_a_deleted_table_loses_its_history_before_its_row(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), "1")
    bench.delete(table)
    with bench.store.for_all("test") as work:
        assert work.removals.due(limit=9) == []
        assert work.histories.due(limit=9) == [TableHistory(table.id, table.project_id)]
    prune(bench)
    with bench.store.for_all("test") as work:
        [removal] = work.removals.due(limit=9)
        assert work.removals.remove(removal) == "removed"
        assert work.histories.due(limit=9) == []


def test_settings_count_their_versions(bench: Bench) -> None:
    project = bench.project()
    with bench.store.for_all("test") as work:
        assert work.history_settings.read(project.id) == StoredHistoryLimits()
        assert work.history_settings.lock(project.id) == StoredHistoryLimits()
        written = work.history_settings.write(project.id, HistoryLimits(keep_days=3))
    assert written == StoredHistoryLimits(1, HistoryLimits(keep_days=3))
    with bench.store.for_all("test") as work:
        assert work.history_settings.read(project.id) == written


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
