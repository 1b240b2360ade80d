"""What is said about an index: status, counters, lists, errors."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from context_search.core.progress import IndexState, IndexStatus, Progress
from context_search.indexing.comparing import Limits
from tests.builders import present
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL

ERROR = {"code": "EMBEDDING_UNAVAILABLE", "message": "m", "retryable": True, "at": "2026-01-01"}


def status(bench: Bench, index_id: int, *, silent_s: float = 300) -> IndexStatus:
    """The status of an index, the same with counters and without."""
    index = bench.index(index_id)
    cheap = bench.work.node_counts.state(index, "", silent_s=silent_s)
    whole = bench.work.node_counts.progress(index, "", silent_s=silent_s)
    assert cheap == IndexState(whole.status, whole.not_searched)
    return cheap.status


def progress(bench: Bench, index_id: int, scope: str = "") -> Progress:
    index = bench.index(index_id)
    return bench.work.node_counts.progress(index, scope, silent_s=300)


def test_an_index_without_strings_is_ready(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": "short"}))
    bench.enumerate(index)
    assert status(bench, index.id) == "ready"
    counted = progress(bench, index.id)
    assert counted == Progress("ready", 0, {}, 0, 0, None, None, not_searched=1)


def test_an_index_behind_its_document_is_indexing(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT})
    assert status(bench, index.id) == "indexing"  # not compared yet
    [node_id] = bench.enumerate(index)
    assert status(bench, index.id) == "indexing"
    bench.finish(node_id)
    assert status(bench, index.id) == "ready"
    bench.change(table, {"a": TEXT, "b": 1})
    assert status(bench, index.id) == "indexing"
    bench.enumerate(index)
    assert status(bench, index.id) == "ready"


def test_an_index_is_degraded_once_nothing_is_on_its_way(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}))
    bench.enumerate(index)
    bench.work.nodes.quarantine(bench.claim(bench.node_at(index, "/a")), ERROR)
    assert status(bench, index.id) == "indexing"
    bench.finish(bench.node_at(index, "/b"))
    assert status(bench, index.id) == "degraded"
    assert progress(bench, index.id).last_error == ERROR
    untouched = progress(bench, index.id, "/b")
    assert (untouched.status, untouched.last_error) == ("ready", None)


def test_an_index_beside_which_another_is_built_is_rebuilding(bench: Bench) -> None:
    index, node_id = bench.node()
    bench.finish(node_id)
    bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    assert status(bench, index.id) == "rebuilding"


def test_silence_is_stalled_unless_somebody_works(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}))
    first, second = bench.enumerate(index)
    bench.pass_time(290)
    assert status(bench, index.id) == "indexing"
    bench.pass_time(20)
    assert status(bench, index.id) == "stalled"
    claim = bench.claim(first)
    assert status(bench, index.id) == "indexing"
    bench.mark(chunk_set := bench.begin(claim))
    bench.activate(claim, chunk_set)
    assert status(bench, index.id) == "indexing"
    bench.pass_time(310)
    assert status(bench, index.id) == "stalled"
    bench.finish(second)
    assert status(bench, index.id) == "ready"


def test_a_node_that_waits_for_its_next_attempt_is_not_silent(bench: Bench) -> None:
    index, node_id = bench.node()
    bench.work.nodes.release([bench.claim(node_id)], retry_in_s=900, error=ERROR, progressed=False)
    bench.pass_time(310)
    assert status(bench, index.id) == "indexing"


def test_while_an_index_is_built_its_counters_only_grow(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}))
    seen = [progress(bench, index.id)]
    for node_id in bench.enumerate(index):
        claim = bench.claim(node_id)
        chunk_set = bench.begin(claim)
        for chunk in chunk_set.chunks:
            seen.append(progress(bench, index.id))
            bench.work.chunks.mark_present([chunk.id])
        assert bench.activate(claim, chunk_set)
        seen.append(progress(bench, index.id))
    for counter in ("chunks_count", "indexed_chunks_count"):
        values = [getattr(moment, counter) for moment in seen]
        assert values == sorted(values)
    assert all(moment.indexed_chunks_count <= moment.chunks_count for moment in seen)
    assert [moment.status for moment in seen] == ["indexing"] * (len(seen) - 1) + ["ready"]


def test_counters_are_those_of_a_scope(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": {"b": TEXT}, "ab": OTHER, "a/b": OTHER}))
    bench.enumerate(index)
    bench.finish(bench.node_at(index, "/a/b"))
    whole, part = progress(bench, index.id), progress(bench, index.id, "/a")
    assert (whole.nodes_count, whole.states) == (3, {"indexed": 1, "queued": 2})
    assert (part.nodes_count, part.states) == (1, {"indexed": 1})
    assert (part.chunks_count, part.indexed_chunks_count) == (3, 3)
    assert part.indexed_at is not None
    assert progress(bench, index.id, "/a~1b").nodes_count == 1
    assert progress(bench, index.id, "/nowhere").nodes_count == 0


def test_counters_of_parts_are_the_same_when_cleanup_counts_them_apart(bench: Bench) -> None:
    table = bench.table({"a": {"b": TEXT, "c": OTHER}, "d": OTHER})
    for scope in ("/a", "/d"):
        _, index = bench.tool(table, scope)
    bench.enumerate(index)
    bench.finish(bench.node_at(index, "/a/b"))

    def parts() -> list[Progress]:
        return [progress(bench, index.id, scope) for scope in ("/a", "/d")]

    before = parts()
    assert [part.states for part in before] == [{"indexed": 1, "queued": 1}, {"queued": 1}]
    is_going_on = True
    while is_going_on:
        is_going_on = bench.work.node_counts.count_parts()
    assert parts() == before
    bench.change(table, {"a": {"b": TEXT}, "d": {"e": TEXT, "f": OTHER}})
    bench.finish_all(index)
    assert [part.states for part in parts()] == [{"indexed": 1}, {"indexed": 2}]
    assert [(part.chunks_count, part.indexed_chunks_count) for part in parts()] == [(3, 3), (5, 5)]
    bench.delete_by_hand(bench.node_at(index, "/d/f"))
    assert [part.chunks_count for part in parts()] == [3, 3]


def test_chunks_count_from_the_rows_and_present_ones_from_the_acknowledgement(bench: Bench) -> None:
    index, node_id = bench.node()
    chunk_set = bench.begin(bench.claim(node_id))
    assert (counts := progress(bench, index.id)).chunks_count == 3
    assert counts.indexed_chunks_count == 0
    for _ in range(2):
        bench.work.chunks.mark_present([chunk.id for chunk in chunk_set.chunks[:2]])
        assert progress(bench, index.id).indexed_chunks_count == 2


def test_the_old_version_counts_until_the_new_one_answers(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT})
    [node_id] = bench.enumerate(index)
    bench.finish(node_id)
    bench.change(table, {"a": OTHER})
    bench.enumerate(index)
    bench.begin(bench.claim(node_id))
    counts = progress(bench, index.id)
    assert (counts.chunks_count, counts.indexed_chunks_count) == (3, 3)


def test_the_last_error_is_the_latest(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT, "b": OTHER}))
    for at, node_id in zip(("2026-01-02", "2026-01-01"), bench.enumerate(index), strict=True):
        bench.work.nodes.release(
            [bench.claim(node_id)], retry_in_s=0, error=ERROR | {"at": at}, progressed=False
        )
    last = progress(bench, index.id).last_error
    assert last == ERROR | {"at": "2026-01-02"}


def test_success_forgets_the_error(bench: Bench) -> None:
    index, node_id = bench.node()
    bench.work.nodes.release([bench.claim(node_id)], retry_in_s=0, error=ERROR, progressed=False)
    bench.finish(node_id)
    assert progress(bench, index.id).last_error is None


def test_lists_go_by_pointer_and_to_their_limit(bench: Bench) -> None:
    keys = ["b", "B", "a", "_", "Z", "ä", "中", "10", "9", "a b"]
    _, index = bench.tool(bench.table(dict.fromkeys(keys, TEXT)))
    bench.enumerate(index)
    nodes = bench.work.node_counts.in_scope(index, "", limit=100)
    first = bench.work.node_counts.in_scope(index, "", limit=3)
    assert bench.work.node_counts.in_scope(index, "/B", limit=9) == [
        node for node in nodes if node.json_pointer == "/B"
    ]
    assert [node.json_pointer for node in nodes] == sorted(f"/{key}" for key in keys)
    assert first == nodes[:3]
    assert {(node.state, node.chunks_count, node.char_count) for node in nodes} == {
        ("queued", None, len(TEXT))
    }


@pytest.mark.parametrize("config", [SMALL, replace(SMALL, chunk_size=50)])
def test_generations_are_counted_apart(bench: Bench, config: object) -> None:
    index, node_id = bench.node()
    bench.finish(node_id)
    building = bench.work.indexes.start_rebuild(index, config, at_once=2)  # type: ignore[arg-type]
    [other] = bench.enumerate(index)
    states = [
        bench.work.node_counts.progress(g, "", silent_s=300).states for g in (index, building)
    ]
    assert states == [{"indexed": 1}, {"queued": 1}]
    bench.finish(other)
    assert bench.work.node_counts.progress(building, "", silent_s=300).states == {"indexed": 1}


def test_a_scope_has_something_to_search_or_has_not(bench: Bench) -> None:
    document = {"a": TEXT, "ab": 1, "blank": " " * 500, "long": "x" * 5_000}
    _, index = bench.tool(bench.table(document))
    nodes = bench.enumerate(index, Limits(max_node_chars=2_000))

    def found(*scopes: str) -> list[bool]:
        return [bench.work.node_counts.has_any(index, scope) for scope in scopes]

    assert found("", "/a", "/blank", "/ab", "/a/b", "/long") == [True] * 3 + [False] * 3
    for node_id in nodes:
        bench.finish(node_id)
    assert found("", "/a", "/blank", "/ab", "/a/b", "/long") == [True] * 2 + [False] * 4


def abandoned(bench: Bench) -> list[int]:
    return bench.work.nodes.abandoned(silent_s=300, limit=9)


def test_who_waits_behind_others_of_the_project_is_not_stalled(bench: Bench) -> None:
    project = bench.project()
    _, waiting = bench.tool(bench.table({"a": TEXT}, project))
    bench.enumerate(waiting)
    _, busy = bench.tool(bench.table({"a": TEXT, "b": OTHER}, project))
    one, other = bench.enumerate(busy)
    bench.pass_time(400)
    assert status(bench, waiting.id) == "stalled"
    claim = bench.claim(one)
    assert status(bench, waiting.id) == "indexing"
    bench.mark(chunk_set := bench.begin(claim))
    bench.activate(claim, chunk_set)
    assert status(bench, waiting.id) == "indexing"
    bench.pass_time(301)
    assert status(bench, waiting.id) == "stalled"
    bench.finish(other)
    assert status(bench, waiting.id) == "indexing"


def test_work_on_another_project_is_no_progress(bench: Bench) -> None:
    index, passed_by = bench.node()
    _, other = bench.tool(bench.table({"a": TEXT, "b": OTHER}))
    one, two = bench.enumerate(other)
    bench.pass_time(400)
    bench.finish(one)
    bench.claim(two)
    assert (status(bench, index.id), abandoned(bench)) == ("stalled", [passed_by])


def test_several_scopes_are_counted_together_as_each_alone(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": {"b": TEXT}, "ab": OTHER, "c": TEXT}))
    bench.enumerate(index)
    bench.finish(bench.node_at(index, "/a/b"))
    bench.work.nodes.release(
        [bench.claim(bench.node_at(index, "/c"))], retry_in_s=60, error=ERROR, progressed=False
    )
    scopes = ["", "/a", "/ab", "/c", "/nowhere"]
    now = bench.index(index.id)
    together = bench.work.node_counts.progress_of(now, scopes, silent_s=300)
    assert together == {scope: progress(bench, index.id, scope) for scope in scopes}
    assert [together[scope].nodes_count for scope in scopes] == [3, 1, 1, 1, 0]
    assert [together[scope].chunks_count for scope in scopes] == [3, 3, 0, 0, 0]
    assert [together[scope].last_error for scope in scopes] == [ERROR, None, None, ERROR, None]


def test_it_is_said_when_the_next_attempt_is(bench: Bench) -> None:
    index, node_id = bench.node()
    queued = present(progress(bench, index.id).next_attempt_at)
    claim = bench.claim(node_id)
    assert progress(bench, index.id).next_attempt_at is None
    bench.work.nodes.release([claim], retry_in_s=3600, error=ERROR, progressed=False)
    later = present(progress(bench, index.id).next_attempt_at)
    assert (later - queued).total_seconds() >= 3600
    [node] = bench.work.node_counts.not_indexed(index, "", limit=9)
    assert (node.attempts, node.next_attempt_at, node.last_error) == (1, later, ERROR)


def test_what_is_not_indexed_is_listed_and_what_failed_comes_first(bench: Bench) -> None:
    texts = {"a": TEXT, "b": TEXT, "c": TEXT + "!", "d": TEXT, "e": {"f": TEXT}}
    _, index = bench.tool(bench.table(texts))
    bench.enumerate(index, Limits(max_node_chars=len(TEXT)))
    bench.finish(bench.node_at(index, "/a"))
    bench.work.nodes.quarantine(bench.claim(bench.node_at(index, "/d")), ERROR)
    listed = bench.work.node_counts.not_indexed(index, "", limit=9)
    assert bench.work.node_counts.not_indexed(index, "", limit=2) == listed[:2]
    [below] = bench.work.node_counts.not_indexed(index, "/e", limit=9)
    assert {(node.json_pointer, node.state) for node in listed[:2]} == {
        ("/c", "skipped"),
        ("/d", "quarantined"),
    }
    assert {node.json_pointer for node in listed[2:]} == {"/b", "/e/f"}
    assert (below.json_pointer, below.state) == ("/e/f", "queued")
    failed = next(node for node in listed if node.state == "quarantined")
    assert (failed.attempts, failed.next_attempt_at) == (1, None)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(max_node_chars=10), "NODE_TOO_LARGE"),
        (Limits(max_node_chunks=2), "NODE_TOO_MANY_CHUNKS"),
    ],
    ids=str,
)
def test_a_skipped_node_says_why_and_when_it_was_skipped(
    bench: Bench, limits: Limits, code: str
) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    bench.enumerate(index, limits)
    reported = progress(bench, index.id)
    assert (reported.status, reported.states) == ("ready", {"skipped": 1})
    error = present(reported.last_error)
    assert (error["code"], error["retryable"]) == (code, False)
    assert datetime.fromisoformat(str(error["at"])).tzinfo is not None


def test_an_order_to_compare_that_failed_is_shown_until_one_succeeds(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    failure = {"code": "INTERNAL", "message": "m", "retryable": True}
    bench.work.comparisons.note_failed(index.id, failure)
    assert not bench.work.comparisons.follows(index.id)
    shown = present(progress(bench, index.id).last_error)
    assert shown == {**failure, "at": shown["at"]}
    bench.enumerate(index)
    assert progress(bench, index.id).last_error is None


def test_a_failure_is_not_noted_once_the_index_is_compared(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    bench.enumerate(index)
    bench.work.comparisons.note_failed(index.id, ERROR)
    assert progress(bench, index.id).last_error is None


def test_a_failure_is_over_when_the_index_turns_out_to_be_compared(bench: Bench) -> None:
    project = bench.project()
    table = bench.table({"a": TEXT}, project)
    index = bench.project_index(project.id)
    bench.work.comparisons.note_failed(index.id, ERROR)
    assert not bench.work.comparisons.follows(index.id, table.id)
    assert progress(bench, index.id).last_error is not None
    bench.delete(table)  # there is nothing to compare any more
    assert bench.work.comparisons.follows(index.id, table.id)
    assert bench.work.comparisons.follows(index.id)
    assert progress(bench, index.id).last_error is None
