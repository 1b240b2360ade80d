"""How far an index is, counted in Postgres: by scope, and never backwards while it is built."""

from __future__ import annotations

import pytest

from context_search.core.model import Index
from context_search.core.progress import IndexStatus, Progress
from context_search.indexing.comparing import Limits
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, chinese, english

DOCUMENT = {"a": {"t": english(250), "u": chinese(250)}, "ab": english(350), "short": "no node"}


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def progress(bench: Workbench, index: Index, scope: str = "") -> Progress:
    current = bench.index(index.id)
    with bench.store.for_all("test") as work:
        return work.node_counts.progress(current, scope, silent_s=100)


def status(bench: Workbench, index: Index) -> IndexStatus:
    current = bench.index(index.id)
    with bench.store.for_all("test") as work:
        return work.node_counts.state(current, "", silent_s=100).status


def error(code: str, at: str) -> dict[str, object]:
    return {"code": code, "message": "m", "retryable": False, "at": at}


def test_an_index_without_strings_is_ready(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"short": "x"}))
    assert status(bench, index) == "indexing"  # nobody has looked yet
    bench.enumerate(index)
    counted = progress(bench, index)
    assert counted == Progress("ready", 0, {}, 0, 0, None, None, not_searched=1)
    assert status(bench, index) == "ready"


def test_the_counters_of_a_scope_are_those_of_its_nodes(bench: Workbench) -> None:
    _, index = bench.tool(bench.table(DOCUMENT))
    claims = [bench.claim(node_id) for node_id in bench.enumerate(index)]
    chunks = {claim.json_pointer: len(bench.finish(claim).chunks) for claim in claims}
    whole, inside = progress(bench, index), progress(bench, index, "/a")
    assert (whole.nodes_count, whole.states) == (3, {"indexed": 3})
    assert whole.chunks_count == whole.indexed_chunks_count == sum(chunks.values())
    assert (inside.nodes_count, inside.chunks_count) == (2, chunks["/a/t"] + chunks["/a/u"])
    assert progress(bench, index, "/a/t").nodes_count == 1
    assert progress(bench, index, "/").nodes_count == 0
    assert whole.indexed_at is not None
    assert whole.indexed_at == max(
        row[0]
        for row in bench.sql(
            "SELECT indexed_at FROM node WHERE generation_id = :id", id=index.generation.id
        )
    )


def test_while_an_index_is_built_its_counters_only_grow(bench: Workbench) -> None:
    _, index = bench.tool(bench.table(DOCUMENT))
    seen = [progress(bench, index)]
    for node_id in bench.enumerate(index):
        claim = bench.claim(node_id)
        seen.append(progress(bench, index))
        built = bench.begin(claim)
        for chunk in built.chunks:
            with bench.store.for_all("test") as work:
                work.chunks.mark_present([chunk.id])
            seen.append(progress(bench, index))
        bench.finish(claim)
        seen.append(progress(bench, index))
    for counter in ("chunks_count", "indexed_chunks_count"):
        values = [getattr(moment, counter) for moment in seen]
        assert values == sorted(values)
    assert all(moment.indexed_chunks_count <= moment.chunks_count for moment in seen)
    assert {moment.status for moment in seen[:-1]} == {"indexing"}
    assert seen[-1].status == "ready"


def test_while_one_string_is_built_again_its_old_chunks_count(bench: Workbench) -> None:
    _, index = bench.tool(bench.table(DOCUMENT))
    bench.indexed(index)
    before = progress(bench, index)
    bench.sql(
        "UPDATE context_table SET data = jsonb_set(data, '{ab}', to_jsonb(CAST(:text AS text)))"
        " WHERE id = :id",
        text=english(900, seed=3),
        id=index.table_id,
    )
    assert status(bench, index) == "indexing"
    [node_id] = bench.enumerate(index)
    claim = bench.claim(node_id)
    bench.begin(claim)
    during = progress(bench, index)
    assert (during.status, during.states) == ("indexing", {"indexed": 2, "claimed": 1})
    assert during.indexed_chunks_count == before.indexed_chunks_count == during.chunks_count
    bench.finish(claim)
    assert progress(bench, index).chunks_count > before.chunks_count


def test_what_failed_for_good_degrades_the_index_and_says_why(bench: Workbench) -> None:
    _, index = bench.tool(bench.table(DOCUMENT))
    claims = {claim.json_pointer: claim for claim in map(bench.claim, bench.enumerate(index))}
    for pointer, report in (
        ("/a/t", error("EMBEDDING_REJECTED", "2026-01-02T00:00:00+00:00")),
        ("/a/u", error("EMBEDDING_TIMEOUT", "2026-01-01T00:00:00+00:00")),
    ):
        with bench.store.for_all("test") as work:
            work.nodes.quarantine(claims[pointer], report)
    assert status(bench, index) == "indexing"
    built = bench.finish(claims["/ab"])
    counted = progress(bench, index)
    assert (counted.status, counted.states) == ("degraded", {"quarantined": 2, "indexed": 1})
    assert counted.last_error == error("EMBEDDING_REJECTED", "2026-01-02T00:00:00+00:00")
    untouched = progress(bench, index, "/ab")
    assert (untouched.status, untouched.last_error) == ("ready", None)
    with bench.store.for_all("test") as work:
        listed = work.node_counts.in_scope(index, "", limit=9)
    assert [(node.json_pointer, node.state, node.chunks_count) for node in listed] == [
        ("/a/t", "quarantined", None),
        ("/a/u", "quarantined", None),
        ("/ab", "indexed", len(built.chunks)),
    ]


def test_skipped_strings_do_not_keep_an_index_from_being_ready(bench: Workbench) -> None:
    _, index = bench.tool(bench.table(DOCUMENT))
    for node_id in bench.enumerate(index, Limits(max_node_chars=300)):
        bench.finish(bench.claim(node_id))
    counted = progress(bench, index)
    assert (counted.status, counted.states) == ("ready", {"indexed": 2, "skipped": 1})
    assert counted.last_error is not None
    assert counted.last_error["code"] == "NODE_TOO_LARGE"


def test_nodes_are_listed_by_pointer_with_what_is_known_of_them(bench: Workbench) -> None:
    _, index = bench.tool(bench.table(DOCUMENT))
    bench.enumerate(index)
    with bench.store.for_all("test") as work:
        listed = work.node_counts.in_scope(index, "", limit=2)
        assert work.node_counts.in_scope(index, "/a/u", limit=9) == listed[1:]
    assert [(node.json_pointer, node.char_count, node.state) for node in listed] == [
        ("/a/t", 250, "queued"),
        ("/a/u", 250, "queued"),
    ]
    assert {node.chunks_count for node in listed} == {None}


def test_silence_is_a_stall_only_when_nothing_else_moves(bench: Workbench) -> None:
    _, index = bench.tool(bench.table(DOCUMENT))
    first, *_ = bench.enumerate(index)
    bench.sql(
        "UPDATE node SET next_at = now() - interval '101 s' WHERE generation_id = :id",
        id=index.generation.id,
    )
    assert status(bench, index) == "stalled"
    claim = bench.claim(first)
    assert status(bench, index) == "indexing"  # somebody works on it
    bench.finish(claim)
    assert status(bench, index) == "indexing"  # and has just finished something
    bench.sql("UPDATE node SET indexed_at = now() - interval '101 s' WHERE id = :id", id=first)
    assert status(bench, index) == "stalled"


def test_a_node_that_waits_for_its_next_attempt_is_not_silent(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": english(250)}))
    [node_id] = bench.enumerate(index)
    claim = bench.claim(node_id)
    with bench.store.for_all("test") as work:
        work.nodes.release(
            [claim], retry_in_s=300, error=error("EMBEDDING_TIMEOUT", "2026"), progressed=False
        )
    assert status(bench, index) == "indexing"
    assert progress(bench, index).last_error == error("EMBEDDING_TIMEOUT", "2026")
