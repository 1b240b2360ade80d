"""Ranking kept candidates again is what a tool with those settings answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from context_search.core.config import SearchConfig
from context_search.ranking.measures import TextRange
from evaluation.judged import SHIPPED, JudgedSet, read_set
from evaluation.pipeline import Pipeline, config_for, running
from evaluation.report import DEFAULT, WAYS, WEIGHTS, evaluate
from testing.in_memory.embedder import WordEmbedder

pytestmark = pytest.mark.slow
SET = read_set(SHIPPED / "keyed")
SETTINGS = {
    **WAYS,
    "vectors above all": SearchConfig(vector_weight=0.9, bm25_weight=0.1),
    "keywords alone count": SearchConfig(vector_weight=0.0, bm25_weight=1.0),
}


@pytest.fixture(scope="module")
def pipeline() -> Iterator[Pipeline]:
    embedder = WordEmbedder(64)
    with running(embedder, config_for(embedder)) as running_pipeline:
        yield running_pipeline


@pytest.fixture(scope="module")
def table_id(pipeline: Pipeline) -> int:
    return pipeline.index("keyed", SET.document)


@pytest.mark.parametrize("search", SETTINGS.values(), ids=SETTINGS)
def test_ranking_again_is_what_the_tool_answers(
    pipeline: Pipeline, table_id: int, search: SearchConfig
) -> None:
    default = pipeline.tool(table_id, SearchConfig())
    tool = pipeline.tool(table_id, search)
    for question in SET.questions[:8]:
        kept, asked = pipeline.ask(default, question.text), pipeline.ask(tool, question.text)
        assert kept is not None
        assert asked is not None
        assert kept.ranked(search) == asked.spans
        assert asked.spans


def test_an_index_calibrates_itself_unless_that_is_switched_off(
    pipeline: Pipeline, table_id: int
) -> None:
    question = SET.questions[0].text
    calibrated = pipeline.ask(pipeline.tool(table_id, SearchConfig()), question)
    embedder = WordEmbedder(64)
    with running(embedder, config_for(embedder), calibrates=False) as other:
        table_of_other = other.index("keyed", SET.document)
        plain = other.ask(other.tool(table_of_other, SearchConfig()), question)
    assert calibrated is not None
    assert plain is not None
    assert calibrated.answer.target.index.generation.calibration is not None
    assert plain.answer.target.index.generation.calibration is None
    assert plain.vector_weight == 0.5


def test_a_question_that_search_refuses_has_no_answer(pipeline: Pipeline, table_id: int) -> None:
    assert pipeline.ask(pipeline.tool(table_id, SearchConfig()), "?!") is None


def test_a_set_is_measured_in_every_way_and_at_every_weight(pipeline: Pipeline) -> None:
    few = replace(SET, name="few", questions=SET.questions[:4])
    results = evaluate(pipeline, few, ["Wer singt?", "?!"])
    assert {len(values) for values in results.weights.values()} == {4}
    assert set(results.weights) == set(WEIGHTS)
    assert {len(results.own), len(results.passed), len(results.ways[DEFAULT]["mrr@10"])} == {4}
    assert len(results.foreign) == 2
    assert results.foreign[1] == 0.0
    assert results.ways["semantic"]["recall@20"].mean() >= 0.5
    answers = [passed > 0 for passed in results.passed]
    assert answers == [best >= 0.7 for best in results.own]


def test_a_sample_is_the_same_each_time_and_never_larger_than_the_set() -> None:
    def asked(judged: JudgedSet) -> list[tuple[TextRange, ...]]:
        return [question.gold for question in judged.questions]

    assert asked(SET.sample(7)) == asked(SET.sample(7))
    assert len(SET.sample(7).questions) == 7
    assert {*asked(SET.sample(7))} <= {*asked(SET)}
    assert SET.sample(1_000) == SET.sample(None) == SET
