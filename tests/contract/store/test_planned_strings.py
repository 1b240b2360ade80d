"""Contract of ``Plans``: the documents and the strings of a plan."""

from __future__ import annotations

import random
from dataclasses import replace

from context_search_editing.rules.edits import Edit, string_hash
from context_search_editing.rules.plans import (
    MAX_PLANNED_STRINGS,
    MAX_PLANNED_TABLES,
    PlannedString,
)
from context_search_editing.rules.replacing import MAX_MATCHES
from tests.contract.store.bench import Bench
from tests.contract.store.planned import added, string, table


def test_tables_are_read_in_order_and_by_state(bench: Bench) -> None:
    plan, other = (added(bench, bench.project().id) for _ in range(2))
    tables = [table(number, matches=number, bytes=10**12) for number in (30, 4, 100, 9)]
    bench.work.plans.add_tables(plan.id, tables)
    bench.work.plans.add_tables(other.id, [table(5)])
    bench.work.plans.add_tables(other.id, [])
    ordered = sorted(tables, key=lambda each: each.table_id)
    done = replace(
        ordered[1],
        state="skipped",
        reason="MATCHES_DIFFER",
        revision_before=7,
        revision_after=8,
        replaced=3,
        kept=2,
        runs=1,
    )
    with bench.store.for_all("test") as work:
        assert work.plans.tables(plan.id, limit=9) == ordered
        assert work.plans.tables(plan.id, after=4, limit=2) == ordered[1:3]
        work.plans.save_tables(plan.id, [replace(done, revision_seen=99, matches=99, bytes=99)])
        assert work.plans.lock_table(plan.id, 9) == done
        assert work.plans.lock_table(plan.id, 5) is None
        assert work.plans.tables(plan.id, limit=9, state="skipped") == [done]
        rest = [ordered[0], *ordered[2:]]
        assert work.plans.tables(plan.id, limit=9, state="pending") == rest
        assert work.plans.tables(plan.id, after=4, limit=1, state="pending") == [ordered[2]]


def test_as_many_tables_as_there_may_be_are_added_at_once(bench: Bench) -> None:
    plan, other = (added(bench, bench.project().id) for _ in range(2))
    done = table(
        2**53 + 1,
        revision_seen=2**60,
        bytes=10**12,
        state="skipped",
        reason="TOO_LARGE",
        revision_before=2**60,
        revision_after=2**60 + 1,
        replaced=5,
        kept=6,
        runs=2,
    )
    tables = [*(table(number, matches=number) for number in range(1, MAX_PLANNED_TABLES)), done]
    in_both = [string(1, 0, 1), string(done.table_id, 0, 2)]
    with bench.store.for_all("test") as work:
        work.plans.add_tables(plan.id, tables, in_both)
        assert work.plans.tables(plan.id, limit=MAX_PLANNED_TABLES + 1) == tables
        assert work.plans.strings(plan.id, 1) + work.plans.strings(plan.id, 2**53 + 1) == in_both
        assert work.plans.tables(other.id, limit=1) == []


def test_strings_are_read_in_the_order_of_the_document(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    strings = [string(4, position, 1 + position) for position in (0, 3, 20, 100)]
    with bench.store.for_all("test") as work:
        work.plans.add_tables(plan.id, [table(4)], list(reversed(strings)))
        work.plans.add_tables(plan.id, [table(5)], [string(5, 0, 200)])
        assert work.plans.strings(plan.id, 4) == strings
        assert work.plans.strings(plan.id, 6) == []
        work.plans.write_strings(plan.id, [])


def test_what_was_executed_is_written_and_what_is_new_added(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    shown = [string(4, 0, 1), string(4, 1, 2)]
    edits = (Edit(0, "𠮷\0\ud7ff👩‍🚒", ""), Edit(9, '"\\', "\u2028 'x'"))
    executed = replace(shown[1], final_hash=string_hash("z"), edits=edits)
    new = string(4, 2, 3, edits=(), final_hash=string_hash(""))
    bench.work.plans.add_tables(plan.id, [table(4)], shown)
    bench.work.plans.write_strings(plan.id, [replace(executed, json_pointer="/other"), new])
    assert bench.work.plans.strings(plan.id, 4) == [shown[0], executed, new]


def test_a_plan_holds_as_many_strings_and_edits_as_it_may(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    strings = [string(4, position, 1 + position) for position in range(MAX_PLANNED_STRINGS)]
    dice = random.Random(7)
    edits = tuple(
        Edit(10 * number, chr(dice.randrange(0x10000, 0x110000)), str(number))
        for number in range(MAX_MATCHES)
    )
    many = string(5, 0, 20_001, MAX_MATCHES, edits=edits, final_hash=string_hash("f"))
    with bench.store.for_all("test") as work:
        work.plans.add_tables(plan.id, [table(4)], strings)
        work.plans.add_tables(plan.id, [table(5)], [many])
        assert work.plans.strings(plan.id, 4) == strings
        assert work.plans.strings(plan.id, 5) == [many]
        shown = work.plans.strings_of_matches(plan.id, after=19_999, limit=5)
        for behind_all in (2**31, 2**63 - 1):
            assert work.plans.strings_of_matches(plan.id, after=behind_all, limit=5) == []
        assert shown == [strings[-1], replace(many, edits=None)]


def test_strings_are_found_by_their_matches(bench: Bench) -> None:
    plan, other = (added(bench, bench.project().id) for _ in range(2))
    in_four = [string(4, 0, 1, 3), string(4, 7, 4, 0), string(4, 8, 4, 1)]
    in_nine = [string(9, 0, 5, 10), string(9, 1, 15, 2)]
    with bench.store.for_all("test") as work:
        work.plans.add_tables(plan.id, [table(4)], in_four)
        work.plans.add_tables(plan.id, [table(9)], in_nine)
        work.plans.add_tables(other.id, [table(4)], [string(4, 0, 1, 50)])

        def found(after: int, limit: int = 9, table_id: int | None = None) -> list[PlannedString]:
            return work.plans.strings_of_matches(
                plan.id, after=after, limit=limit, table_id=table_id
            )

        assert found(0) == [in_four[0], in_four[2], *in_nine]
        assert found(0, limit=2) == [in_four[0], in_four[2]]
        assert found(2) == [in_four[0], in_four[2], *in_nine]
        assert found(3) == [in_four[2], *in_nine]
        assert found(14) == in_nine[1:]
        assert found(16) == []
        assert found(0, table_id=9) == in_nine
        assert found(14, table_id=9) == in_nine[1:]
        assert found(3, table_id=4) == [in_four[2]]
        assert found(4, table_id=4) == []
