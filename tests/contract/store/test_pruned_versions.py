"""Versions of tables: what is labelled, erased and pruned, and what a plan keeps."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from context_search.catalog.rules.versions import MAX_LABELS, Pruned, TableHistory
from context_search.core.model import Table
from context_search_editing.rules.plans import Plan, PlannedTable
from tests.contract.store.bench import Bench
from tests.contract.store.planned import added, saved, undo_of
from tests.contract.store.recorded import LONG, keep, pieces_of, prune, read, versions, write

DAY_S = 86_400.0


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
    bench.work.versions.label(table, 1, "a name")
    bench.work.versions.erase(table, 1)
    bench.work.versions.erase(table, 3)  # live
    reported = [(v.revision, v.gap, v.label, v.size) for v in versions(bench, table)]
    assert reported == [(3, None, None, None), (2, None, None, 5), (1, "erased", None, None)]
    assert bench.work.versions.pieces(table, 1, first=0, count=9) == []
    assert prune(bench).pieces > 1
    assert read(bench, table, 2) == '"two"'
    bench.work.versions.erase(table)
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
    assert bench.work.versions.over_limit(limit=9) == [one.project_id]
    assert bench.work.versions.expire_oldest(one.project_id) == 1
    prune(bench)
    assert bench.work.versions.over_limit(limit=9) == []
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
        assert work.versions.over_limit(limit=9) == expected
        assert work.versions.over_limit(limit=1) == expected[:1]


def test_what_was_written_meanwhile_is_erased_with_the_rest(bench: Bench) -> None:
    read_before = bench.table(LONG)
    for text in ('"a"', '"b"'):
        table = write(bench, read_before, text)
    bench.work.versions.erase(read_before)
    assert [(v.revision, v.gap, v.is_live) for v in versions(bench, table)] == [
        (3, None, True),
        (2, "erased", False),
        (1, "erased", False),
    ]


def test_a_labelled_version_stays_whatever_it_takes(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), '"a"')
    bench.work.versions.label(table, 1, "mine")
    keep(bench, table.project_id, max_bytes=1)
    assert bench.work.versions.expire_oldest(table.project_id) == 0
    prune(bench)
    assert read(bench, table, 1)


def replaced(bench: Bench, table: Table, revision: int, *, days: int = 30) -> Plan:
    """A plan that replaced a revision and can be undone for so many days."""
    plan = added(bench, table.project_id, request=None)
    done = PlannedTable(table.id, revision, 1, 1, state="done", revision_before=revision)
    bench.work.plans.add_tables(plan.id, [done])
    return saved(bench, plan, state="done", undo_until=plan.created_at + timedelta(days=days))


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
        assert work.versions.over_limit(limit=9) == [table.project_id]
        assert work.versions.expire_oldest(table.project_id) == 1
        assert work.versions.over_limit(limit=9) == []
        assert work.versions.expire_oldest(table.project_id) == 0
    assert [v.revision for v in versions(bench, table)] == [5, 2]
    undo = undo_of(bench, plan)
    assert undo is not None
    # It may fail, and the plan can be undone again.
    assert bench.work.versions.expire_oldest(table.project_id) == 0
    bench.work.plans.save(replace(undo, state="done"))
    assert bench.work.versions.expire_oldest(table.project_id) == 1
    assert [v.revision for v in versions(bench, table)] == [5]


def test_what_a_plan_has_replaced_so_far_is_never_too_much(bench: Bench) -> None:
    table = write(bench, write(bench, bench.table(0), "1"), "2")
    plan = replaced(bench, table, 1)
    bench.work.plans.save(replace(plan, state="executing", undo_until=None))
    keep(bench, table.project_id, keep_count=1, max_bytes=1)
    prune(bench)
    assert bench.work.versions.expire_oldest(table.project_id) == 1
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
    bench.work.versions.label(table, 1, "mine")
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
    assert bench.work.removals.due(limit=9) == []
    assert bench.work.versions.due(limit=9) == [TableHistory(table.id, table.project_id)]
    prune(bench)
    [removal] = bench.work.removals.due(limit=9)
    assert bench.work.removals.remove(removal) == "removed"
    assert bench.work.versions.due(limit=9) == []
