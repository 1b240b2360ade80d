"""Which namespaces are compared with turbopuffer next, and what was found."""

from __future__ import annotations

from dataclasses import replace

from context_search.core.model import Index
from context_search.maintenance.rules.sweeps import SweepCounts, SweepCursor, SweepExtent
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL

FOUND = SweepCounts(checked=3, orphans=2, missing=1, repaired=1)


def due(bench: Bench, *, older_than_s: float = 100, limit: int = 9) -> list[SweepCursor]:
    return bench.work.sweeps.due(older_than_s=older_than_s, limit=limit)


def note(bench: Bench, cursor: SweepCursor, after: str, found: SweepCounts = FOUND) -> None:
    bench.work.sweeps.note(cursor, after=after, found=found)


def reports(bench: Bench, index_id: int | None = None) -> list[dict[str, object]]:
    return bench.work.sweeps.reports(index_id)


def index(bench: Bench) -> Index:
    return bench.tool(bench.table({}))[1]


def test_a_sweep_goes_on_where_it_stopped_with_what_it_found(bench: Bench) -> None:
    index(bench)
    [cursor] = due(bench)
    note(bench, cursor, "k")
    [cursor] = due(bench)
    assert (cursor.after, cursor.counts) == ("k", FOUND)
    assert reports(bench) == []


def test_the_end_of_a_sweep_is_its_report(bench: Bench) -> None:
    one = index(bench)
    for after in ("k", ""):
        [cursor] = due(bench)
        note(bench, cursor, after)
    assert due(bench) == []
    [report] = reports(bench)
    assert {key: report[key] for key in report if key != "at"} == {
        "namespace": one.generation.namespace,
        "checked": 6,
        "orphans": 4,
        "missing": 2,
        "repaired": 2,
    }
    assert isinstance(report["at"], str)


def test_a_namespace_is_due_again_when_its_last_sweep_is_old(bench: Bench) -> None:
    index(bench)
    [cursor] = due(bench)
    note(bench, cursor, "")
    bench.pass_time(90)
    assert due(bench) == []
    bench.pass_time(11)
    [cursor] = due(bench)
    assert (cursor.after, cursor.counts) == ("", SweepCounts())
    assert len(reports(bench)) == 1


def test_what_was_swept_the_longest_ago_comes_first(bench: Bench) -> None:
    one, other, third = index(bench), index(bench), index(bench)
    for cursor in due(bench):
        if cursor.generation_id != third.generation.id:
            note(bench, cursor, "")
            bench.pass_time(200)
    names = [cursor.namespace for cursor in due(bench)]
    assert names == [
        third.generation.namespace,
        one.generation.namespace,
        other.generation.namespace,
    ]
    assert [cursor.namespace for cursor in due(bench, limit=1)] == [third.generation.namespace]


def test_only_live_generations_are_swept(bench: Bench) -> None:
    project = bench.project()
    one, waiting = (bench.tool(bench.table({}, project))[1] for _ in range(2))
    building = bench.work.indexes.start_rebuild(one, SMALL, at_once=1)
    assert bench.work.indexes.start_rebuild(waiting, SMALL, at_once=1).generation.state == "queued"
    bench.work.indexes.retire(waiting.id)
    assert {cursor.namespace for cursor in due(bench)} == {
        one.generation.namespace,
        building.generation.namespace,
    }
    bench.work.indexes.switch(building)
    assert [cursor.namespace for cursor in due(bench)] == [building.generation.namespace]
    bench.work.indexes.retire(one.id)
    assert due(bench) == []


def test_reports_are_those_of_live_generations_of_an_index(bench: Bench) -> None:
    one, other = index(bench), index(bench)
    for cursor in due(bench):
        note(bench, cursor, "")
    assert [each["namespace"] for each in reports(bench)] == [
        one.generation.namespace,
        other.generation.namespace,
    ]
    assert [each["namespace"] for each in reports(bench, other.id)] == [other.generation.namespace]
    bench.work.indexes.retire(other.id)
    assert [each["namespace"] for each in reports(bench)] == [one.generation.namespace]


def test_a_namespace_is_known_while_its_generation_has_a_row(bench: Bench) -> None:
    one, retired = index(bench), index(bench)
    bench.work.indexes.retire(retired.id)
    listed = [
        retired.generation.namespace,
        "project_9_table_9",
        one.generation.namespace,
        "project_9_table_10",
    ]
    assert bench.work.sweeps.unknown(listed) == ["project_9_table_10", "project_9_table_9"]
    assert bench.work.sweeps.unknown([]) == []
    bench.work.removals.purge_generation(retired.generation.id)
    assert bench.work.sweeps.unknown([retired.generation.namespace, one.generation.namespace]) == [
        retired.generation.namespace
    ]


def test_present_chunks_come_in_the_order_of_their_bytes(bench: Bench) -> None:
    _, one = bench.indexed({"a": TEXT, "b": OTHER, "Z": TEXT, "0": OTHER})
    ids = bench.ids(one)
    assert len(ids) == 10
    assert ids == sorted(ids, key=str.encode)
    pages = [
        bench.work.sweeps.present_after(one.generation.namespace, after, 4)
        for after in ("", ids[3])
    ]
    assert bench.work.sweeps.present_after("elsewhere", "", 4) == []
    assert bench.work.sweeps.present_after(one.generation.namespace, ids[-1], 4) == []
    assert [doc_id for page in pages for doc_id, _ in page] == ids[:8]


def test_what_is_lost_of_an_unfinished_string_holds_its_swap_up(bench: Bench) -> None:
    one, node_id = bench.node()
    claim = bench.claim(node_id)
    chunk_set = bench.begin(claim)
    first, second, third = chunk_set.chunks
    bench.work.chunks.mark_present([first.id, second.id])
    assert requeue(bench, one, [first.doc_id]) == []
    assert bench.ids(one) == [second.doc_id]
    assert bench.work.chunks.activate([(claim, chunk_set)], [third.id]) == set()
    again = bench.begin(claim)
    assert first.id in {chunk.id for chunk in again.missing}
    assert bench.work.chunks.activate([(claim, again)], [first.id, third.id]) == {node_id}
    assert bench.ids(one) == sorted(chunk.doc_id for chunk in chunk_set.chunks)


def requeue(bench: Bench, one: Index, ids: list[str]) -> list[int]:
    return bench.work.chunks.requeue_missing(one.generation.namespace, ids)


def test_a_node_without_its_documents_is_indexed_again(bench: Bench) -> None:
    one, node_id = bench.node()
    bench.finish(node_id)
    ids = bench.ids(one)
    assert requeue(bench, one, [ids[1], "unknown"]) == [node_id]
    assert bench.ids(one) == [ids[0], ids[2]]
    chunk_set = bench.begin(claim := bench.claim(node_id))
    assert [chunk.doc_id for chunk in chunk_set.chunks if not chunk.present] == [ids[1]]
    bench.mark(chunk_set)
    assert bench.activate(claim, chunk_set)
    assert bench.ids(one) == ids
    assert bench.tombstones() == []


def test_a_node_that_is_worked_on_is_not_queued_again(bench: Bench) -> None:
    one, node_id = bench.node()
    bench.finish(node_id)
    ids = bench.ids(one)
    requeue(bench, one, ids[:1])
    claim = bench.claim(node_id)
    assert requeue(bench, one, ids[1:]) == []
    bench.work.nodes.hold([claim], lease_s=60)
    chunk_set = bench.begin(claim)
    assert [chunk.present for chunk in chunk_set.chunks] == [False] * 3


def test_what_is_missing_elsewhere_changes_nothing(bench: Bench) -> None:
    one, node_id = bench.node()
    bench.finish(node_id)
    ids = bench.ids(one)
    assert bench.work.chunks.requeue_missing("elsewhere", ids) == []
    assert bench.work.chunks.requeue_missing(one.generation.namespace, []) == []
    assert bench.ids(one) == ids


def test_missing_chunks_count_as_not_indexed(bench: Bench) -> None:
    config = replace(SMALL, window_tokens=10)
    _, one = bench.tool(bench.table({"a": TEXT}), config=config)
    bench.finish_all(one)
    requeue(bench, one, bench.ids(one)[:2])
    progress = bench.work.node_counts.progress(one, "", silent_s=300)
    assert (progress.chunks_count, progress.indexed_chunks_count) == (3, 1)


def test_a_namespace_is_swept_to_its_end_before_the_next(bench: Bench) -> None:
    one, other = index(bench), index(bench)
    names = []
    for after in ("k", "l", "", ""):
        [cursor] = due(bench, limit=1)
        names.append(cursor.namespace)
        note(bench, cursor, after)
        bench.pass_time(1)
    assert names == [one.generation.namespace] * 3 + [other.generation.namespace]


def test_one_that_failed_is_behind_the_others_and_goes_on_where_it_was(bench: Bench) -> None:
    index(bench)
    [cursor] = due(bench)
    note(bench, cursor, "k")
    other = index(bench)
    bench.work.sweeps.note_failed(cursor)
    assert [each.namespace for each in due(bench)] == [other.generation.namespace, cursor.namespace]
    assert due(bench)[-1].after == "k"


def extent(bench: Bench, page: int = 2) -> SweepExtent:
    found = bench.work.sweeps.extent(page=page)
    return replace(found, oldest_s=round(found.oldest_s, -1))


def test_a_round_is_as_many_pages_as_live_namespaces_have(bench: Bench) -> None:
    assert extent(bench) == SweepExtent(0, 0, 0)
    config = replace(SMALL, window_tokens=10)
    _, one = bench.tool(bench.table({"a": TEXT}), config=config)
    bench.finish_all(one)
    rows = sum(
        each for _, each in bench.work.sweeps.present_after(one.generation.namespace, "", 99)
    )
    assert rows > 3  # windows of three chunks
    index(bench)  # empty
    assert extent(bench) == SweepExtent(rows, rows // 2 + 1 + 1, 0)


def test_the_oldest_sweep_is_that_of_the_namespace_that_waits_longest(bench: Bench) -> None:
    index(bench)
    bench.pass_time(500)
    assert extent(bench).oldest_s == 500  # never swept: since it was begun
    [cursor] = due(bench)
    note(bench, cursor, "k")
    assert extent(bench).oldest_s == 500
    note(bench, cursor, "")
    assert extent(bench).oldest_s == 0
    bench.pass_time(300)
    index(bench)
    assert extent(bench).oldest_s == 300


def test_an_ordered_generation_is_the_next_and_begins_anew(bench: Bench) -> None:
    indexes = [bench.tool(bench.table({}))[1] for _ in range(3)]
    for cursor in bench.work.sweeps.due(older_than_s=0, limit=9):
        bench.work.sweeps.note(cursor, after="k", found=FOUND)
    bench.pass_time(1)
    wanted = indexes[2]
    for _ in range(2):
        bench.work.sweeps.put_first(wanted.generation.id)
        first, *others = bench.work.sweeps.due(older_than_s=3600, limit=9)
        assert first == SweepCursor(wanted.generation.id, wanted.generation.namespace, "")
        assert [cursor.after for cursor in others] == ["k", "k"]
