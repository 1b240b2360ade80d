"""Contract of ``Quotas`` and ``Indexes``: who has room, who waits, who goes, who comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.catalog.rules.uploads import NewUpload
from context_search.core.callers import KeyOwner, NewApiKey
from context_search.core.limits import HeldKind, ProjectLimits, Usage
from context_search.core.messages import IndexNodes
from context_search.core.model import Index, Project
from tests.builders import english, present
from tests.contract.store.bench import TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL, table_of

HOUR = 3600.0
A_CHUNK = SMALL.dimensions * 4
OTHER = english(90, seed=9)
IN_TEXT, IN_OTHER = 3, 1
NOTHING = ProjectLimits(max_chunks=0, idle_s=HOUR)


def limits(max_chunks: int = 10**6, max_vector_bytes: int = 10**9) -> ProjectLimits:
    return ProjectLimits(max_chunks, max_vector_bytes, HOUR)


def indexed(bench: Bench, project: Project, text: str = TEXT) -> Index:
    """An index of one string, indexed; it is used for the last time now."""
    _, index = bench.tool(bench.table({"a": text}, project))
    bench.finish_all(index)
    return bench.index(index.id)


def used(bench: Bench, project: Project) -> Usage:
    return bench.work.quotas.used(project.id)


def room(bench: Bench, index: Index, allowed: ProjectLimits) -> int:
    return bench.work.quotas.room(index.id, allowed).chunks


def waiting(bench: Bench, index: Index, *needs: int) -> list[int]:
    """Makes the nodes of an index wait for so many chunks each."""
    nodes = bench.enumerate(index)
    for node_id, chunks in zip(nodes, needs, strict=True):
        reason = {"code": "PROJECT_FULL", "chunks": chunks, "vector_bytes": chunks * A_CHUNK}
        bench.work.nodes.skip(bench.claim(node_id), reason)
    return nodes


def readmitted(bench: Bench, allowed: ProjectLimits, *, limit: int = 100) -> list[int]:
    return bench.work.quotas.readmit(allowed, limit=limit)


def next_to_go(bench: Bench, allowed: ProjectLimits = NOTHING) -> Index | None:
    return bench.work.indexes.next_to_go(allowed)


def given_up(bench: Bench, index: Index) -> bool:
    with bench.store.for_all("test") as work:
        assert work.indexes.lock(index)
        return work.indexes.give_up(index, NOTHING)


def searched(bench: Bench, index: Index) -> None:
    bench.work.indexes.note_search(index.id)


def rebuilt(bench: Bench, index: Index) -> Index:
    """Builds an index anew and switches; returns the generation that answers now."""
    new = bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    bench.finish_all(index)
    bench.work.indexes.switch(new)
    return new


def test_what_is_used_are_the_chunks_of_live_generations(bench: Bench) -> None:
    project = bench.project()
    first = indexed(bench, project)
    indexed(bench, project, OTHER)
    indexed(bench, bench.project())
    assert used(bench, project) == Usage(IN_TEXT + IN_OTHER, (IN_TEXT + IN_OTHER) * A_CHUNK)
    bench.work.indexes.retire(first.id)
    assert used(bench, project) == Usage(IN_OTHER, IN_OTHER * A_CHUNK)


def test_a_rebuild_counts_twice_until_the_earlier_generation_goes(bench: Bench) -> None:
    project = bench.project()
    index = indexed(bench, project)
    rebuilt(bench, index)
    assert used(bench, project).chunks == 2 * IN_TEXT
    assert room(bench, index, limits(10)) == 10 - IN_TEXT


def test_colder_indexes_leave_room_for_warmer_ones(bench: Bench) -> None:
    project = bench.project()
    cold = indexed(bench, project)
    bench.pass_time(HOUR)
    middle = indexed(bench, project, OTHER)
    bench.pass_time(HOUR + 1)
    hot = indexed(bench, project)
    everything = 2 * IN_TEXT + IN_OTHER
    assert room(bench, cold, limits(100)) == 100 - everything
    assert room(bench, middle, limits(100)) == 100 - everything + IN_TEXT
    assert room(bench, hot, limits(100)) == 100 - IN_TEXT


def test_what_is_in_use_leaves_no_room(bench: Bench) -> None:
    project = bench.project()
    indexed(bench, project)
    bench.pass_time(HOUR - 60)
    later = indexed(bench, project)
    assert room(bench, later, limits(2 * IN_TEXT)) == 0
    assert bench.work.quotas.room(later.id, limits(0, 0)) == Usage(-6, -6 * A_CHUNK)


def test_a_node_is_new_until_it_has_chunks(bench: Bench) -> None:
    index, node_id = bench.node()
    claim = bench.claim(node_id)

    def is_new() -> bool:
        return bool(bench.work.quotas.new_among([claim]))

    assert is_new()
    chunk_set = bench.begin(claim)
    assert not is_new()
    bench.mark(chunk_set)
    bench.activate(claim, chunk_set)
    table_id = table_of(index)
    bench.work.tables.replace(table_id, f'{{"a": "{OTHER}"}}', expected_revision=None)
    [again] = bench.enumerate(index)
    claim = bench.claim(again)
    assert not is_new()


def test_a_node_of_a_rebuild_is_not_new(bench: Bench) -> None:
    index = indexed(bench, bench.project())
    bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    claim = bench.claim(bench.enumerate(index)[0])
    assert not bench.work.quotas.new_among([claim])


def test_a_skipped_node_keeps_its_text_and_loses_what_was_being_built(bench: Bench) -> None:
    index, node_id = bench.node()
    bench.begin(bench.claim(node_id, lease_s=0))
    bench.pass_time(1)
    claim = bench.claim(node_id)
    index = bench.index(index.id)
    bench.work.nodes.skip(claim, {"code": "PROJECT_FULL", "chunks": 3, "vector_bytes": 1})
    progress = bench.work.node_counts.progress(index, "", silent_s=1e9)
    assert (
        bench.work.node_counts.state(index, "", silent_s=1e9).status
        == progress.status
        == "degraded"
    )
    assert progress.states == {"skipped": 1}
    assert progress.last_error is not None
    assert progress.last_error["code"] == "PROJECT_FULL"
    assert len(bench.tombstones()) == IN_TEXT
    assert bench.try_claim(node_id) is None
    assert readmitted(bench, limits()) == [node_id]
    assert bench.claim(node_id).content == TEXT


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (limits(8), 2),
        (limits(7), 2),
        (limits(6), 1),
        (limits(3), 1),
        (limits(max_vector_bytes=4 * A_CHUNK), 1),
        (limits(max_vector_bytes=4 * A_CHUNK - 1), 1),
        (limits(0), 0),
    ],
)
def test_as_many_come_back_as_fit_together(
    bench: Bench, allowed: ProjectLimits, expected: int
) -> None:
    _, index = bench.tool(bench.table([english(100, seed) for seed in range(4)]))
    waiting(bench, index, 50, 4, 3, 3)
    assert len(readmitted(bench, allowed)) == expected


def test_at_most_so_many_come_back_at_a_time(bench: Bench) -> None:
    _, index = bench.tool(bench.table([english(100, seed) for seed in range(3)]))
    nodes = waiting(bench, index, 1, 1, 1)
    assert readmitted(bench, limits(), limit=2) == sorted(nodes)[:2]
    assert readmitted(bench, limits(), limit=2) == sorted(nodes)[2:]


def test_the_index_that_was_used_last_comes_first_and_each_project_for_itself(bench: Bench) -> None:
    project, other = bench.project(), bench.project()
    _, old = bench.tool(bench.table({"a": TEXT}, project))
    bench.pass_time(90)
    _, new = bench.tool(bench.table({"a": TEXT}, project))
    _, foreign = bench.tool(bench.table({"a": TEXT}, other))
    [first], [second], [third] = (waiting(bench, index, 2) for index in (new, old, foreign))
    assert sorted(readmitted(bench, limits(2))) == sorted([first, third])
    assert readmitted(bench, limits(2)) == [second]  # the worker looks again


def test_a_node_waits_until_something_colder_may_go(bench: Bench) -> None:
    project = bench.project()
    indexed(bench, project)
    bench.pass_time(60)
    _, index = bench.tool(bench.table({"a": TEXT}, project))
    nodes = waiting(bench, index, IN_TEXT)
    assert readmitted(bench, limits(IN_TEXT)) == []
    bench.pass_time(HOUR)
    assert readmitted(bench, limits(IN_TEXT)) == nodes


def test_no_node_of_a_deleted_table_or_a_retired_index_comes_back(bench: Bench) -> None:
    table, deleted = bench.served({"a": TEXT})
    _, retired = bench.tool(bench.table({"a": TEXT}))
    for index in (deleted, retired):
        waiting(bench, index, 1)
    bench.delete(table)
    bench.work.indexes.retire(retired.id)
    assert readmitted(bench, limits()) == []


def test_nothing_goes_while_a_project_is_within_its_limits(bench: Bench) -> None:
    project = bench.project()
    index = indexed(bench, project)
    bench.pass_time(HOUR + 1)
    exact = limits(IN_TEXT, IN_TEXT * A_CHUNK)
    assert next_to_go(bench, exact) is None
    for tight in (limits(IN_TEXT - 1), limits(max_vector_bytes=IN_TEXT * A_CHUNK - 1)):
        going = present(next_to_go(bench, tight))
        assert going.id == index.id


def test_the_coldest_goes_first_and_what_is_in_use_stays(bench: Bench) -> None:
    project = bench.project()
    indexes = [indexed(bench, project)]
    for _ in range(3):
        bench.pass_time(HOUR + 1)
        indexes.append(indexed(bench, project))
    searched(bench, indexes[0])
    gone = []
    while going := next_to_go(bench):
        assert given_up(bench, going)
        gone.append(going.id)
    assert gone == [indexes[1].id, indexes[2].id]
    assert not given_up(bench, indexes[0])
    assert not given_up(bench, indexes[3])


def test_an_evicted_index_is_there_and_empty(bench: Bench) -> None:
    project = bench.project()
    index = indexed(bench, project)
    bench.pass_time(HOUR + 1)
    assert given_up(bench, index)
    now = bench.index(index.id)
    assert (now.generation.number, now.generation.state, now.config) == (2, "active", SMALL)
    assert now.generation.namespace.endswith(f"_i{index.id}_g2")
    assert now.evicted_at is not None
    assert not bench.is_compared(now)
    assert used(bench, project) == Usage(0, 0)
    progress = bench.work.node_counts.progress(now, "", silent_s=180)
    assert (
        bench.work.node_counts.state(now, "", silent_s=180).status == progress.status == "evicted"
    )
    assert bench.work.indexes.with_incomplete_tools(limit=10) == [index.id]
    [tool] = bench.work.tools.of_index(index.id)
    bench.work.tools.write_summary(tool.id, {"status": "evicted"})
    assert bench.work.indexes.with_incomplete_tools(limit=10) == []
    assert progress.last_error is not None
    assert (progress.nodes_count, progress.last_error["code"]) == (0, "INDEX_EVICTED")
    assert not given_up(bench, now)
    assert next_to_go(bench) is None


def test_an_operator_clears_an_index_however_hot_it_is(bench: Bench) -> None:
    index = indexed(bench, bench.project())
    searched(bench, index)
    with bench.store.for_all("test") as work:
        work.indexes.lock(index)
        assert work.indexes.clear(index)
        assert not work.indexes.clear(index)
    now = bench.index(index.id)
    progress = bench.work.node_counts.progress(now, "", silent_s=180)
    assert progress.last_error is not None
    assert (progress.status, progress.last_error["code"]) == ("evicted", "INDEX_DELETED")
    assert bench.work.indexes.revive(index.id)
    assert (bench.index(index.id).evicted_at, bench.index(index.id).evicted_by) == (None, None)


def test_an_index_that_was_rolled_back_goes_by_its_last_use(bench: Bench) -> None:
    project = bench.project()
    index = indexed(bench, project)
    rebuilt(bench, index)
    bench.work.indexes.switch(index)
    bench.pass_time(HOUR)
    other = indexed(bench, project)
    bench.pass_time(90)
    searched(bench, index)
    bench.pass_time(HOUR + 1)
    gone = []
    while going := next_to_go(bench):
        assert given_up(bench, going)
        gone.append((going.id, going.generation.state))
    assert gone == [(index.id, "previous"), (other.id, "active"), (index.id, "active")]


def test_all_generations_of_an_evicted_index_are_given_up(bench: Bench) -> None:
    index = indexed(bench, bench.project())
    new = rebuilt(bench, index)
    bench.work.indexes.start_rebuild(new, SMALL, at_once=2)
    bench.pass_time(HOUR + 1)
    assert given_up(bench, bench.index(index.id))
    assert bench.work.indexes.previous(index.id) is bench.work.indexes.pending(index.id) is None
    [live] = bench.work.indexes.live(index.id)
    assert (live.generation.number, live.is_rebuilding) == (4, False)


def test_a_rebuild_that_does_not_end_is_given_up_with_its_index(bench: Bench) -> None:
    project = bench.project()
    _, index = bench.tool(bench.table({"a": TEXT}, project))
    new = bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    bench.enumerate(index)
    bench.finish(bench.node_at(new, "/a"))
    assert next_to_go(bench) is None
    bench.pass_time(HOUR + 1)
    going = present(next_to_go(bench))
    assert (going.id, going.generation.state) == (index.id, "building")
    assert given_up(bench, going)
    assert used(bench, project) == Usage(0, 0)


def test_an_evicted_index_comes_back_once_and_is_in_use(bench: Bench) -> None:
    index = indexed(bench, bench.project())
    bench.pass_time(HOUR + 1)
    given_up(bench, index)
    assert [bench.work.indexes.revive(index.id) for _ in range(2)] == [True, False]
    assert not bench.work.indexes.revive(2**40)
    now = bench.index(index.id)
    assert (now.evicted_at, now.is_idle, now.generation.number) == (None, False, 2)
    bench.finish_all(now)
    assert next_to_go(bench) is None


def test_a_search_is_noted_once_a_minute(bench: Bench) -> None:
    index = indexed(bench, bench.project())
    assert not index.is_idle
    bench.pass_time(61)
    assert bench.index(index.id).is_idle
    searched(bench, index)
    assert not bench.index(index.id).is_idle
    bench.pass_time(50)
    searched(bench, index)
    bench.pass_time(11)
    assert bench.index(index.id).is_idle


def test_readings_are_those_of_all_projects(bench: Bench) -> None:
    indexed(bench, bench.project())
    evicted = indexed(bench, bench.project())
    bench.pass_time(HOUR + 1)
    given_up(bench, evicted)
    _, sick = bench.node(OTHER)
    claim = bench.claim(sick)
    with bench.store.for_all("test") as work:
        work.nodes.quarantine(claim, {"code": "X"})
        owners = work.outbox.add([IndexNodes((sick,)).to_json(), IndexNodes((10**9,)).to_json()])
        for project_id in owners:
            work.outbox.take(project_id, window=1)
        [foreign] = work.outbox.add([IndexNodes((10**9 + 1,)).to_json()])
        assert work.outbox.take(foreign, window=1) == []  # waits for a place, not for the queue
    bench.pass_time(90)
    with bench.store.for_all("test") as work:
        work.node_counts.compact()
        readings = work.health.readings()
    assert (readings.active_chunks, readings.quarantined_nodes) == (IN_TEXT, 1)
    assert readings.evicted_indexes == 1
    assert 90 <= readings.outbox_age_s < 120


def held(bench: Bench, project: Project, kind: HeldKind) -> int:
    with bench.store.for_project(project.id) as work:
        return work.quotas.held(project.id, kind)


@only_postgres
def test_what_a_project_holds_is_counted_while_it_is_there(bench: Bench) -> None:
    project, other = bench.project(), bench.project()
    table, _ = bench.table({"a": TEXT}, project), bench.table({}, project)
    bench.tool(table)
    bench.tool(bench.table({}, other))
    owner = KeyOwner(project.id)
    for_ever, _ = [bench.work.keys.add(owner, NewApiKey(None, "cs_", b)) for b in (b"a", b"b")]
    bench.work.keys.add(owner, NewApiKey(None, "cs_", b"c", lifetime_s=60))
    mcp, _ = (bench.work.mcp_instances.add(project.id, name) for name in ("a", "b"))
    counted: list[HeldKind] = ["tables", "tools", "keys", "mcps"]
    assert [held(bench, project, kind) for kind in counted] == [2, 1, 3, 2]
    bench.work.tables.mark_deleted(table.id)
    bench.work.keys.revoke(for_ever.id)
    bench.work.mcp_instances.remove(mcp.id)
    bench.pass_time(61)
    assert [held(bench, project, kind) for kind in counted] == [1, 0, 1, 1]
    assert [held(bench, other, kind) for kind in counted] == [1, 1, 0, 0]


@only_postgres
def test_bytes_of_documents_are_those_stored_and_those_that_are_imported(bench: Bench) -> None:
    project = bench.project()
    empty = held(bench, project, "document_bytes")
    table = bench.table({"a": english(9_000)}, project)
    stored = held(bench, project, "document_bytes")
    assert empty == 0
    assert 1_000 < stored < 20_000
    upload = bench.work.uploads.add(NewUpload(project.id, table.id, "json", size=70_000))
    bench.work.uploads.save(replace(upload, state="importing", bytes=70_000))
    assert held(bench, project, "document_bytes") == stored + 70_000
    bench.work.uploads.save(replace(upload, state="done", bytes=70_000))
    bench.work.tables.mark_deleted(table.id)
    assert held(bench, project, "document_bytes") == 0


@only_postgres
def test_one_of_many_brings_an_evicted_index_back(bench: PostgresBench) -> None:
    index = indexed(bench, bench.project())
    bench.pass_time(HOUR + 1)
    assert given_up(bench, index)
    with ThreadPoolExecutor(8) as pool:
        revived = pool.map(lambda _: bench.work.indexes.revive(index.id), range(8))
        assert sorted(revived) == [False] * 7 + [True]
    now = bench.index(index.id)
    assert (now.evicted_at, now.is_idle) == (None, False)
    assert not given_up(bench, now)


@only_postgres
def test_an_eviction_waits_for_a_search_that_is_being_noted(bench: PostgresBench) -> None:
    index = indexed(bench, bench.project())
    bench.pass_time(HOUR + 1)
    with bench.store.for_all("test") as work:
        work.indexes.note_search(index.id)
        eviction = bench.begun(given_up, bench, index)
        assert not eviction.done()
    assert eviction.result() is False
    assert bench.index(index.id).evicted_at is None
