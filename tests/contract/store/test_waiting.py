"""Contract of ``Nodes``: whose turn it is, what waits, what failed, and what is said about it."""

from __future__ import annotations

from datetime import datetime

import pytest

from context_search.core.progress import IndexStatus, Progress
from context_search.indexing.comparing import Limits
from tests.contract.store.bench import OTHER, TEXT, Bench

ERROR = {"code": "EMBEDDING_UNAVAILABLE", "message": "m", "retryable": True, "at": "2026-01-01"}


def progress(bench: Bench, index_id: int, scope: str = "") -> Progress:
    index = bench.index(index_id)
    return bench.work.node_counts.progress(index, scope, silent_s=300)


def status(bench: Bench, index_id: int) -> IndexStatus:
    return progress(bench, index_id).status


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
    claim = bench.claim(bench.node_at(index, "/c"))
    bench.work.nodes.release([claim], retry_in_s=60, error=ERROR, progressed=False)
    scopes = ["", "/a", "/ab", "/c", "/nowhere"]
    now = bench.index(index.id)
    together = bench.work.node_counts.progress_of(now, scopes, silent_s=300)
    assert together == {scope: progress(bench, index.id, scope) for scope in scopes}
    assert [together[scope].nodes_count for scope in scopes] == [3, 1, 1, 1, 0]
    assert [together[scope].chunks_count for scope in scopes] == [3, 3, 0, 0, 0]
    assert [together[scope].last_error for scope in scopes] == [ERROR, None, None, ERROR, None]


def test_it_is_said_when_the_next_attempt_is(bench: Bench) -> None:
    index, node_id = bench.node()
    queued = progress(bench, index.id).next_attempt_at
    assert queued is not None
    claim = bench.claim(node_id)
    assert progress(bench, index.id).next_attempt_at is None
    bench.work.nodes.release([claim], retry_in_s=3600, error=ERROR, progressed=False)
    later = progress(bench, index.id).next_attempt_at
    assert later is not None
    assert (later - queued).total_seconds() >= 3600
    [node] = bench.work.node_counts.not_indexed(index, "", limit=9)
    assert (node.attempts, node.next_attempt_at, node.last_error) == (1, later, ERROR)


def test_what_is_not_indexed_is_listed_and_what_failed_comes_first(bench: Bench) -> None:
    texts = {"a": TEXT, "b": TEXT, "c": TEXT + "!", "d": TEXT, "e": {"f": TEXT}}
    _, index = bench.tool(bench.table(texts))
    bench.enumerate(index, Limits(max_node_chars=len(TEXT)))
    bench.finish(bench.node_at(index, "/a"))
    claim = bench.claim(bench.node_at(index, "/d"))
    with bench.store.for_all("test") as work:
        work.nodes.quarantine(claim, ERROR)
        listed = work.node_counts.not_indexed(index, "", limit=9)
        assert work.node_counts.not_indexed(index, "", limit=2) == listed[:2]
        [below] = work.node_counts.not_indexed(index, "/e", limit=9)
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
    error = progress(bench, index.id).last_error
    assert error is not None
    assert (error["code"], error["retryable"]) == (code, False)
    assert datetime.fromisoformat(str(error["at"])).tzinfo is not None


def test_an_order_to_compare_that_failed_is_shown_until_one_succeeds(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    failure = {"code": "INTERNAL", "message": "m", "retryable": True}
    bench.work.comparisons.note_failed(index.id, failure)
    assert not bench.work.comparisons.follows(index.id)
    shown = progress(bench, index.id).last_error
    assert shown is not None
    assert shown == {**failure, "at": shown["at"]}
    bench.enumerate(index)
    assert progress(bench, index.id).last_error is None


def test_a_failure_is_not_noted_when_somebody_has_compared_the_index_meanwhile(
    bench: Bench,
) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))
    bench.enumerate(index)
    bench.work.comparisons.note_failed(index.id, ERROR)
    assert progress(bench, index.id).last_error is None


REFUSED = {"code": "DOCUMENT_TOO_LARGE", "message": "too large", "retryable": False}


def test_a_document_that_is_refused_stays_refused_until_it_is_gone(bench: Bench) -> None:
    table = bench.table({"a": "text " * 20})
    _, index = bench.tool(table)
    bench.enumerate(index)
    with bench.store.for_all("test") as work:
        work.comparisons.note_refused(index.id, table.id, REFUSED)
        work.comparisons.note_failed(index.id, {"code": "X", "message": "x", "retryable": True})
        assert work.comparisons.follows(index.id, table.id)
        reported = work.node_counts.progress(index, "", silent_s=100)
    assert reported.last_error is not None
    assert reported.last_error["code"] == "DOCUMENT_TOO_LARGE"
    bench.work.tables.mark_deleted(table.id)
    assert bench.work.node_counts.progress(index, "", silent_s=100).last_error is None


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
