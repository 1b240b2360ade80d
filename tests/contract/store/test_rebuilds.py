"""Contract of ``Indexes``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from context_search.core.config import IndexConfig
from context_search.core.model import Index, Project
from context_search.indexing.rebuilds import retire_outdated
from context_search.indexing.rules.indexes import Size, UnderWay
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL

LARGER = replace(SMALL, chunk_size=200)


def start(bench: Bench, index: Index, config: IndexConfig = SMALL, *, at_once: int = 2) -> Index:
    with bench.store.for_all("test") as work:
        assert work.indexes.lock(index)
        return work.indexes.start_rebuild(index, config, at_once=at_once)


def switch(bench: Bench, to: Index) -> None:
    with bench.store.for_all("test") as work:
        assert work.indexes.lock(to)
        work.indexes.switch(to)


def indexes(bench: Bench, count: int, project: Project | None = None) -> list[Index]:
    owner = project or bench.project()
    return [bench.tool(bench.table({}, owner))[1] for _ in range(count)]


def test_a_new_generation_is_built_beside_the_one_that_answers(bench: Bench) -> None:
    [index] = indexes(bench, 1)
    building = start(bench, index, LARGER)
    assert (building.id, building.generation.state, building.generation.number) == (
        index.id,
        "building",
        2,
    )
    assert building.config == LARGER
    assert not bench.is_compared(building)
    assert building.generation.namespace == f"{index.generation.namespace}_i{index.id}_g2"
    assert bench.index(index.id) == replace(index, is_rebuilding=True)


def test_a_project_builds_so_many_at_once(bench: Bench) -> None:
    project = bench.project()
    states = [start(bench, index).generation.state for index in indexes(bench, 3, project)]
    [elsewhere] = indexes(bench, 1)
    assert states == ["building", "building", "queued"]
    assert start(bench, elsewhere).generation.state == "building"


def test_what_is_pending_is_what_is_built_or_waits(bench: Bench) -> None:
    one, other = indexes(bench, 2, bench.project())
    assert bench.work.indexes.pending(one.id) is None
    building, queued = start(bench, one, at_once=1), start(bench, other, at_once=1)
    with bench.store.for_all("test") as work:
        assert work.indexes.pending(one.id) == building
        assert work.indexes.pending(other.id) == queued
        assert work.indexes.pending(10**9) is None
        assert work.indexes.building(limit=9) == [one.id]
        assert [each.generation.state for each in work.indexes.live(other.id)] == ["active"]


def test_a_queued_generation_begins_when_there_is_room(bench: Bench) -> None:
    found = indexes(bench, 3, bench.project())
    first, *_ = [start(bench, index, at_once=1) for index in found]
    assert bench.work.indexes.promote(at_once=1) == []
    switch(bench, first)
    with bench.store.for_all("test") as work:
        assert work.indexes.promote(at_once=1) == [found[1].id]
        assert work.indexes.promote(at_once=1) == []
        assert work.indexes.promote(at_once=2) == [found[2].id]
        assert work.indexes.building(limit=9) == [found[1].id, found[2].id]
        assert work.indexes.building(limit=1) == [found[1].id]


def test_a_switch_keeps_the_generation_before(bench: Bench) -> None:
    [index] = indexes(bench, 1)
    building = start(bench, index, LARGER)
    switch(bench, building)
    now = bench.index(index.id)
    assert (now.generation.id, now.generation.state) == (building.generation.id, "active")
    assert (now.config, now.is_rebuilding) == (LARGER, False)
    previous = bench.work.indexes.previous(index.id)
    assert bench.work.indexes.pending(index.id) is None
    assert previous is not None
    assert (previous.generation.id, previous.generation.state) == (index.generation.id, "previous")
    assert previous.config == SMALL


def test_only_one_generation_before_is_kept(bench: Bench) -> None:
    [index] = indexes(bench, 1)
    generations = [index]
    for _ in range(2):
        generations.append(start(bench, index))
        switch(bench, generations[-1])
    previous = bench.work.indexes.previous(index.id)
    retired = bench.work.removals.retired(older_than_s=-1, limit=9)
    assert previous is not None
    assert previous.generation.id == generations[1].generation.id
    assert [each.namespace for each in retired] == [index.generation.namespace]


def test_going_back_exchanges_the_two(bench: Bench) -> None:
    [index] = indexes(bench, 1)
    building = start(bench, index, LARGER)
    switch(bench, building)
    previous = bench.work.indexes.previous(index.id)
    assert previous is not None
    bench.work.indexes.switch(previous)
    assert bench.index(index.id).generation.id == index.generation.id
    assert bench.index(index.id).config == SMALL
    previous = bench.work.indexes.previous(index.id)
    assert bench.work.removals.retired(older_than_s=-1, limit=9) == []
    assert previous is not None
    assert previous.generation.id == building.generation.id


def test_the_generation_before_is_retired_when_it_is_old(bench: Bench) -> None:
    [index] = indexes(bench, 1)
    switch(bench, start(bench, index))
    bench.pass_time(100)
    with bench.store.for_all("test") as work:
        assert not work.indexes.retire_previous(index.id, older_than_s=150)
        assert not work.indexes.retire_previous(10**9, older_than_s=50)
        assert work.indexes.retire_previous(index.id, older_than_s=50)
        assert not work.indexes.retire_previous(index.id, older_than_s=50)
        assert work.indexes.previous(index.id) is None


def test_the_generation_before_may_be_retired_at_once(bench: Bench) -> None:
    [index] = indexes(bench, 1)
    switch(bench, start(bench, index))
    assert bench.work.indexes.retire_previous(index.id, older_than_s=0)
    assert bench.work.indexes.previous(index.id) is None


def test_outdated_generations_are_found_the_oldest_first(bench: Bench) -> None:
    found = indexes(bench, 3)
    for index in found:
        switch(bench, start(bench, index))
        bench.pass_time(100)
    assert bench.work.indexes.outdated(older_than_s=350, limit=9) == []
    outdated = bench.work.indexes.outdated(older_than_s=150, limit=9)
    assert bench.work.indexes.outdated(older_than_s=0, limit=1) == outdated[:1]
    assert [(each.id, each.generation.state, each.generation.namespace) for each in outdated] == [
        (index.id, "previous", index.generation.namespace) for index in found[:2]
    ]


def test_a_table_has_the_index_of_its_active_configuration(bench: Bench) -> None:
    [index] = indexes(bench, 1)
    building = start(bench, index, LARGER)
    with bench.store.for_all("test") as work:
        assert work.indexes.has_index(index.table_id, SMALL)
        assert not work.indexes.has_index(index.table_id, LARGER)
        assert not work.indexes.has_index(10**9, SMALL)
        work.indexes.switch(building)
        assert work.indexes.has_index(index.table_id, LARGER)
        assert not work.indexes.has_index(index.table_id, SMALL)


def test_a_generation_is_finished_when_no_node_waits_or_has_failed(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": TEXT}))

    def unfinished() -> bool:
        return bench.work.indexes.is_unfinished(index)

    assert not unfinished()
    [node_id] = bench.enumerate(index)
    assert unfinished()
    claim = bench.claim(node_id)
    assert unfinished()
    bench.work.nodes.quarantine(claim, {"code": "X"})
    assert unfinished()
    bench.work.nodes.requeue_quarantined(limit=1)
    bench.finish(node_id)
    assert not unfinished()


def test_a_generation_holds_its_active_chunks(bench: Bench) -> None:
    config = replace(SMALL, chunk_overlap=0)
    text = "字" * 150
    _, index = bench.tool(bench.table({"a": text, "b": OTHER}), config=config)
    bench.enumerate(index)
    bench.begin(bench.claim(bench.node_at(index, "/b")))
    bench.finish(bench.node_at(index, "/a"))
    size = bench.work.indexes.size(index)
    assert size == Size(nodes=2, chunks=2, characters=150, bytes=450)


def test_indexes_of_all_projects_come_in_pages(bench: Bench) -> None:
    first, second = indexes(bench, 2)
    [other] = indexes(bench, 1)
    gone = indexes(bench, 1, project := bench.project())[0]
    with bench.store.for_project(project.id) as work:
        assert work.projects.mark_deleted(project.id)
    start(bench, second, LARGER)
    rebuilding = bench.index(second.id)
    with bench.store.for_all("test") as work:
        page = work.indexes.page(after=0, limit=99)
        assert [index.id for index in page] == [first.id, second.id, other.id]
        assert page[1] == rebuilding
        assert work.indexes.page(after=first.id, limit=1) == [page[1]]
        assert work.indexes.page(after=other.id, limit=9) == []
    assert gone.id > other.id


@only_postgres
def test_what_is_under_way_is_counted_over_all_projects(bench: Bench) -> None:
    project = bench.project()
    for index in indexes(bench, 3, project):
        start(bench, index, LARGER)
    building = start(bench, indexes(bench, 1)[0], LARGER)
    assert bench.work.indexes.rebuilds_under_way() == UnderWay(building=3, queued=1)
    listed = {one.project_id: one.building for one in bench.work.projects.page(after=0, limit=9)}
    assert listed == {project.id: 3, building.project_id: 1}
    switch(bench, building)
    assert bench.work.indexes.rebuilds_under_way() == UnderWay(building=2, queued=1)


DAY = 86_400.0


def outdated(bench: Bench) -> Index:
    """An index that switched long ago; the generation before is returned."""
    [index] = indexes(bench, 1)
    switch(bench, start(bench, index))
    bench.pass_time(2 * DAY)
    return index


@only_postgres
def test_a_generation_that_somebody_goes_back_to_is_not_retired(bench: PostgresBench) -> None:
    index = outdated(bench)
    with bench.store.for_all("test") as work:
        work.indexes.lock(index)
        previous = work.indexes.previous(index.id)
        assert previous is not None
        retiring = bench.begun(retire_outdated, bench.store, older_than_s=DAY)
        assert not retiring.done()
        work.indexes.switch(previous)
    assert retiring.result() == 0
    assert bench.index(index.id).generation.id == index.generation.id
    assert bench.work.indexes.previous(index.id) is not None


@only_postgres
def test_a_table_that_is_busy_for_long_does_not_keep_the_others_waiting(
    bench: PostgresBench,
) -> None:
    busy, free = outdated(bench), outdated(bench)
    with bench.store.for_all("test") as work, ThreadPoolExecutor(1) as threads:
        work.indexes.lock(busy)
        assert threads.submit(retire_outdated, bench.store, older_than_s=DAY).result() == 1
    assert bench.work.indexes.previous(free.id) is None
    assert bench.work.indexes.previous(busy.id) is not None
