"""Indexes, their generations, and what a generation was found to be worth."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from context_search.catalog.tools import ManageTools, NewSearchTool
from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.messages import CalibrateIndex
from context_search.core.model import Index, IndexCalibration, Project, Scope, Table
from context_search.indexing.comparing import Limits
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.indexing.rebuilds import retire_outdated
from context_search.indexing.rules.indexes import SampledRow, Size, UnderWay
from context_search.searching.rules.searched import SearchedTool
from testing.in_memory.queue import ListQueue, unexpected
from tests.builders import english, present
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL, table_of

LARGER = replace(SMALL, chunk_size=200)


def test_equal_configurations_share_an_index(bench: Bench) -> None:
    table, one = bench.served({})
    _, same = bench.tool(table, "/a")
    _, other = bench.tool(table, config=LARGER)
    assert one.id == same.id != other.id


def test_tables_do_not_share_an_index(bench: Bench) -> None:
    project = bench.project()
    _, one = bench.tool(bench.table({}, project))
    _, other = bench.tool(bench.table({}, project))
    assert one.id != other.id
    assert one.generation.namespace != other.generation.namespace


def test_a_new_index_answers_through_its_first_generation(bench: Bench) -> None:
    _, index = bench.tool(bench.table({}))
    assert (index.generation.state, index.generation.number) == ("active", 1)
    assert not bench.is_compared(index)
    assert (index.config, index.is_rebuilding) == (SMALL, False)
    assert bench.index(index.id) == index


def test_the_first_index_of_a_table_has_the_short_namespace(bench: Bench) -> None:
    table, first = bench.served({})
    _, second = bench.tool(table, config=LARGER)
    name = f"{bench.work.indexes.namespace_prefix()}{table.project_id}_table_{table.id}"
    assert first.generation.namespace == name
    assert second.generation.namespace == f"{name}_i{second.id}_g1"


def test_a_namespace_is_not_given_again_while_its_documents_may_be_there(bench: Bench) -> None:
    table, first = bench.served({})
    bench.work.indexes.retire(first.id)
    _, second = bench.tool(table)
    assert second.id != first.id
    assert second.generation.namespace != first.generation.namespace


def test_an_index_being_rebuilt_to_a_configuration_is_the_one(bench: Bench) -> None:
    table, index = bench.served({})
    bench.work.indexes.start_rebuild(index, LARGER, at_once=2)
    _, found = bench.tool(table, config=LARGER)
    assert found.id == index.id


def test_what_is_not_there_is_not_found(bench: Bench) -> None:
    assert bench.work.indexes.find(10**9) is None
    assert bench.work.indexes.live(10**9) == []


def test_scopes_are_those_of_tools_each_once(bench: Bench) -> None:
    table = bench.table({})
    one, index = bench.tool(table, "/b")
    bench.tool(table, "/b")
    bench.tool(table, "")
    assert sorted(bench.work.comparisons.scopes(index.id)) == ["", "/b"]
    bench.work.comparisons.uncover(one.id)
    assert sorted(bench.work.comparisons.scopes(index.id)) == ["", "/b"]


def test_a_scope_that_no_tool_needs_is_gone(bench: Bench) -> None:
    tool, index = bench.tool(bench.table({}), "/b")
    bench.work.comparisons.uncover(tool.id)
    bench.work.comparisons.uncover(tool.id)
    assert bench.work.comparisons.scopes(index.id) == []
    assert bench.work.tools.find(tool.id, project_id=None) is None


def test_the_compared_revision_is_that_of_a_generation(bench: Bench) -> None:
    _, index = bench.tool(bench.table({}))
    with bench.store.for_all("test") as work:
        building = work.indexes.start_rebuild(index, SMALL, at_once=2)
        work.comparisons.note_compared(building, table_of(index), 1, [""])
        assert [each.generation.number for each in work.indexes.live(index.id)] == [1, 2]
        assert work.comparisons.is_compared(building)
        assert not work.comparisons.is_compared(index)
        assert work.comparisons.uncompared(index.id) == [index.table_id]
        work.comparisons.note_compared(index, table_of(index), 1, [""])
        assert work.comparisons.uncompared(index.id) == []


def test_a_retired_index_is_gone_and_its_documents_follow(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT, "b": OTHER})
    stored = bench.ids(index)
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        assert work.indexes.find(index.id) is None
        assert work.indexes.live(index.id) == []
        assert work.removals.remove_retired_nodes(limit=1) > 0
        while work.removals.remove_retired_nodes(limit=1):
            pass
    assert sorted(stone.doc_id for stone in bench.tombstones()) == sorted(stored)


def test_retiring_twice_changes_nothing(bench: Bench) -> None:
    _, index = bench.tool(bench.table({}))
    for _ in range(2):
        bench.work.indexes.retire(index.id)
        bench.pass_time(10)
    [cursor] = bench.work.removals.retired(older_than_s=15, limit=9)
    assert cursor.namespace == index.generation.namespace


def creation(bench: PostgresBench) -> ManageTools:
    store = OutboxDelivery(bench.store, ListQueue(), unexpected)
    return ManageTools(store, Limits(), 180.0)


def wanted(table: Table, name: str = "search") -> NewSearchTool:
    scope = Scope(table.id, "")
    return NewSearchTool(table.project_id, name, None, scope, SMALL, SearchConfig())


@only_postgres
def test_thirty_tools_created_at_once_share_one_index(bench: PostgresBench) -> None:
    table = bench.table({"list": [english(200, seed) for seed in range(5)]})
    use_case = creation(bench).create
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda n: use_case(wanted(table, f"tool {n}")), range(30)))
    assert len({status.index.id for status in made}) == 1
    assert len({status.tool.id for status in made}) == 30
    assert {len(status.nodes) for status in made} == {5}
    rows = {name: bench.count(name) for name in ("search_index", "index_generation", "node")}
    assert rows == {"search_index": 1, "index_generation": 1, "node": 5}
    assert (bench.count("tool"), bench.count("coverage")) == (30, 30)
    assert bench.sql("SELECT count(*), count(sent_at) FROM outbox") == [[5, 5]]  # all were sent


@only_postgres
def test_creating_and_retiring_at_once_leaves_each_tool_an_index(bench: PostgresBench) -> None:
    table = bench.table({"a": english(200)})
    use_case = creation(bench).create

    def create_and_delete(number: int) -> None:
        status = use_case(wanted(table))
        if number % 3:
            bench.work.tools.mark_deleted(status.tool.id)
            bench.work.comparisons.uncover(status.tool.id)
            with bench.store.for_all("test") as work:
                work.tables.lock(table.id)
                if not work.comparisons.scopes(status.index.id):
                    work.indexes.retire(status.index.id)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(create_and_delete, range(24)))
    alive = bench.work.tools.page(table.project_id, after=0, limit=99)
    assert len(alive) == 8
    assert bench.count("search_index") == 1
    assert {tool.index_id for tool in alive} == {
        row[0] for row in bench.sql("SELECT id FROM search_index")
    }


def start(bench: Bench, index: Index, config: IndexConfig = SMALL, *, at_once: int = 2) -> Index:
    return bench.work.indexes.start_rebuild(index, config, at_once=at_once)


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
    assert bench.work.indexes.pending(one.id) == building
    assert bench.work.indexes.pending(other.id) == queued
    assert bench.work.indexes.pending(10**9) is None
    assert bench.work.indexes.building(limit=9) == [one.id]
    assert [each.generation.state for each in bench.work.indexes.live(other.id)] == ["active"]


def test_a_queued_generation_begins_when_there_is_room(bench: Bench) -> None:
    found = indexes(bench, 3, bench.project())
    first, *_ = [start(bench, index, at_once=1) for index in found]
    assert bench.work.indexes.promote(at_once=1) == []
    switch(bench, first)
    assert bench.work.indexes.promote(at_once=1) == [found[1].id]
    assert bench.work.indexes.promote(at_once=1) == []
    assert bench.work.indexes.promote(at_once=2) == [found[2].id]
    assert bench.work.indexes.building(limit=9) == [found[1].id, found[2].id]
    assert bench.work.indexes.building(limit=1) == [found[1].id]


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
    switch(bench, present(bench.work.indexes.previous(index.id)))
    assert bench.index(index.id).generation.id == index.generation.id
    assert bench.index(index.id).config == SMALL
    assert bench.work.removals.retired(older_than_s=-1, limit=9) == []
    assert present(bench.work.indexes.previous(index.id)).generation.id == building.generation.id


def test_the_generation_before_is_retired_when_it_is_old(bench: Bench) -> None:
    [index] = indexes(bench, 1)
    switch(bench, start(bench, index))
    bench.pass_time(100)
    assert not bench.work.indexes.retire_previous(index.id, older_than_s=150)
    assert not bench.work.indexes.retire_previous(10**9, older_than_s=50)
    assert bench.work.indexes.retire_previous(index.id, older_than_s=50)
    assert not bench.work.indexes.retire_previous(index.id, older_than_s=50)
    assert bench.work.indexes.previous(index.id) is None
    switch(bench, start(bench, index))
    assert bench.work.indexes.retire_previous(index.id, older_than_s=0)


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
    assert bench.work.indexes.has_index(index.table_id, SMALL)
    assert not bench.work.indexes.has_index(index.table_id, LARGER)
    assert not bench.work.indexes.has_index(10**9, SMALL)
    bench.work.indexes.switch(building)
    assert bench.work.indexes.has_index(index.table_id, LARGER)
    assert not bench.work.indexes.has_index(index.table_id, SMALL)


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
    page = bench.work.indexes.page(after=0, limit=99)
    assert [index.id for index in page] == [first.id, second.id, other.id]
    assert page[1] == rebuilding
    assert bench.work.indexes.page(after=first.id, limit=1) == [page[1]]
    assert bench.work.indexes.page(after=other.id, limit=9) == []
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
        previous = present(work.indexes.previous(index.id))
        retiring = bench.begun(retire_outdated, bench.store, older_than_s=DAY)
        assert not retiring.done()
        work.indexes.switch(previous)
    assert retiring.result() == 0
    assert bench.index(index.id).generation.id == index.generation.id
    assert bench.work.indexes.previous(index.id) is not None


@only_postgres
def test_a_busy_table_keeps_no_other_generation_from_being_retired(bench: PostgresBench) -> None:
    busy, free = outdated(bench), outdated(bench)
    with bench.store.for_all("test") as work, ThreadPoolExecutor(1) as threads:
        work.indexes.lock(busy)
        assert threads.submit(retire_outdated, bench.store, older_than_s=DAY).result() == 1
    assert bench.work.indexes.previous(free.id) is None
    assert bench.work.indexes.previous(busy.id) is not None


FOUND = IndexCalibration(0.35, 0.44, 0.03, 41, 500, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
NO_WEIGHT = replace(FOUND, vector_weight=None, questions=0)
LIST, OTHER_LIST = b"\x01" * 32, b"\x02" * 32


def note(bench: Bench, index: Index, found: IndexCalibration = FOUND) -> bool:
    return bench.work.indexes.note_calibration(index, found)


def sample(bench: Bench, index: Index, limit: int = 500) -> list[SampledRow]:
    return bench.work.indexes.sample(index, limit=limit)


@pytest.mark.parametrize("found", [FOUND, NO_WEIGHT])
def test_what_was_found_is_read_with_the_index_and_with_its_tools(
    bench: Bench, found: IndexCalibration
) -> None:
    tool, index = bench.indexed({"a": TEXT})
    assert index.generation.calibration is None
    assert note(bench, index, found)
    assert bench.index(index.id).generation.calibration == found
    with bench.store.for_all("test") as work:
        searched = SearchedTool(tool.id, None)
        target = present(work.live_chunks.read_target(searched, work.node_counts, silent_s=60))
    assert target.index.generation.calibration == found


def test_a_later_calibration_takes_the_place_of_the_one_before(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT})
    assert note(bench, index)
    assert note(bench, index, NO_WEIGHT)
    assert bench.index(index.id).generation.calibration == NO_WEIGHT


def test_only_the_generation_that_answers_has_one(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT})
    building = bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    assert not note(bench, building)
    assert note(bench, index)
    bench.work.indexes.switch(building)
    assert bench.index(index.id).generation.calibration is None
    assert not note(bench, index)
    bench_previous = bench.index(index.id)
    kept = present(bench.work.indexes.previous(index.id))
    assert kept.generation.calibration == FOUND
    assert bench_previous.generation.id == building.generation.id


def test_chunks_are_counted_by_generation(bench: Bench) -> None:
    project = bench.project()
    _, empty = bench.tool(bench.table({}, project))
    _, index = bench.indexed({"a": TEXT, "b": OTHER})
    assert bench.work.indexes.chunk_count(empty) == 0
    assert bench.work.indexes.chunk_count(index) == 5


def test_equal_content_has_an_equal_sample(bench: Bench) -> None:
    texts = [english(250, seed=seed) for seed in range(8)]
    _, one = bench.indexed({str(number): text for number, text in enumerate(texts)})
    _, other = bench.indexed({str(number): text for number, text in enumerate(reversed(texts))})
    chosen = [row.text for row in sample(bench, one, 7)]
    assert len(chosen) == 7
    assert [row.text for row in sample(bench, other, 7)] == chosen
    whole = sample(bench, one)
    assert [row.text for row in whole[:7]] == chosen
    assert len(whole) == 24


def test_a_text_is_sampled_once_and_with_its_place(bench: Bench) -> None:
    _, index = bench.indexed({"b": OTHER, "a": OTHER})
    rows = sample(bench, index)
    assert [(row.json_pointer, row.window_count) for row in rows] == [("/a", 1)] * 2
    assert sorted(row.index for row in rows) == [0, 1]
    assert {row.doc_id for row in rows} < set(bench.ids(index))
    assert {row.table_id for row in rows} == {index.table_id}


def test_only_what_is_searchable_is_sampled(bench: Bench) -> None:
    tool, index = bench.indexed({"a": TEXT})
    before = sample(bench, index)
    table_id = tool.scope.table_id
    bench.work.tables.replace(table_id, f'{{"a": "{OTHER}"}}', expected_revision=None)
    [node_id] = bench.enumerate(index)
    claim = bench.claim(node_id)
    bench.mark(bench.begin(claim))  # complete, and not yet swapped
    assert sample(bench, index) == before


def test_a_large_index_is_sampled_like_a_small_one(bench: Bench) -> None:
    strings = {str(seed): english(250, seed=seed) for seed in range(20)}
    _, index = bench.indexed(strings)
    assert [sample(bench, index, limit) for limit in (1, 3, 5)] == [
        sample(bench, index)[:limit] for limit in (1, 3, 5)
    ]


def test_vectors_of_questions_are_kept_once_a_model(bench: Bench) -> None:
    vectors = [[0.5, -0.25], [1.0, 0.125]]
    assert bench.work.indexes.asked_vectors("m", 2, LIST) == []
    bench.work.indexes.keep_asked_vectors("m", 2, LIST, vectors)
    bench.work.indexes.keep_asked_vectors("m", 2, LIST, vectors)
    bench.work.indexes.keep_asked_vectors("other", 2, LIST, [[2.0, 2.0]])
    bench.work.indexes.keep_asked_vectors("m", 1, LIST, [[3.0]])
    assert [list(each) for each in bench.work.indexes.asked_vectors("m", 2, LIST)] == vectors
    assert bench.work.indexes.asked_vectors("m", 2, OTHER_LIST) == []
    bench.work.indexes.keep_asked_vectors("m", 2, OTHER_LIST, [[4.0, 4.0]])
    assert bench.work.indexes.asked_vectors("m", 2, LIST) == []
    assert [list(each) for each in bench.work.indexes.asked_vectors("m", 1, LIST)] == [[3.0]]


def test_the_order_to_calibrate_is_of_the_indexs_project(bench: Bench) -> None:
    project = bench.project()
    _, index = bench.tool(bench.table({}, project))
    message = CalibrateIndex(index.id, index.generation.id)
    bench.lose_messages()
    assert bench.work.outbox.add([message.to_json(), message.to_json()]) == [project.id]
    assert bench.messages() == [message.to_json()]
