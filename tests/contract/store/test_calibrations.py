"""Contract of ``Indexes``: what a generation was found to be worth, and on which chunks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from context_search.core.messages import CalibrateIndex
from context_search.core.model import Index, IndexCalibration
from context_search.indexing.rules.indexes import SampledRow
from context_search.searching.rules.searched import SearchedTool
from tests.builders import english
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL

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
    target = bench.work.live_chunks.read_target(SearchedTool(tool.id, None), silent_s=60)
    assert target is not None
    assert target.index.generation.calibration == found


def test_a_later_calibration_takes_the_place_of_the_one_before(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT})
    assert note(bench, index)
    assert note(bench, index, NO_WEIGHT)
    assert bench.index(index.id).generation.calibration == NO_WEIGHT


def test_only_the_generation_that_answers_has_one(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT})
    with bench.store.for_all("test") as work:
        assert work.indexes.lock(index)
        building = work.indexes.start_rebuild(index, SMALL, at_once=2)
    assert not note(bench, building)
    assert note(bench, index)
    bench.work.indexes.switch(building)
    assert bench.index(index.id).generation.calibration is None
    assert not note(bench, index)
    bench_previous = bench.index(index.id)
    kept = bench.work.indexes.previous(index.id)
    assert kept is not None
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
    with bench.store.for_all("test") as work:
        assert work.indexes.asked_vectors("m", 2, LIST) == []
        work.indexes.keep_asked_vectors("m", 2, LIST, vectors)
        work.indexes.keep_asked_vectors("m", 2, LIST, vectors)
        work.indexes.keep_asked_vectors("other", 2, LIST, [[2.0, 2.0]])
        work.indexes.keep_asked_vectors("m", 1, LIST, [[3.0]])
    with bench.store.for_all("test") as work:
        assert [list(each) for each in work.indexes.asked_vectors("m", 2, LIST)] == vectors
        assert work.indexes.asked_vectors("m", 2, OTHER_LIST) == []
        work.indexes.keep_asked_vectors("m", 2, OTHER_LIST, [[4.0, 4.0]])
        assert work.indexes.asked_vectors("m", 2, LIST) == []
        assert [list(each) for each in work.indexes.asked_vectors("m", 1, LIST)] == [[3.0]]


def test_the_order_to_calibrate_is_of_the_indexs_project(bench: Bench) -> None:
    project = bench.project()
    _, index = bench.tool(bench.table({}, project))
    message = CalibrateIndex(index.id, index.generation.id)
    bench.lose_messages()
    assert bench.work.outbox.add([message.to_json(), message.to_json()]) == [project.id]
    assert bench.messages() == [message.to_json()]
