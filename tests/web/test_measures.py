"""Judged questions and the places of hits in, measures out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.ranking.measures import DEPTH, MEASURES
from context_search.searching.routes.measures import MAX_QUESTIONS, MAX_RANGES
from tests.web.api import Api, answer, problem

Place = dict[str, Any]


def at(start: int, end: int, pointer: str = "/a") -> Place:
    return {"json_pointer": pointer, "char_start": start, "char_end": end}


HERE, ELSEWHERE, OTHER = at(0, 100), at(500, 600), at(900, 1_000)
QUESTION = {"relevant": [HERE], "base": [ELSEWHERE, HERE]}


def measured(api: Api, *questions: object, **more: object) -> Any:
    return api("POST", f"{api.project}/measures", json={"questions": list(questions), **more})


def test_one_configuration_is_measured_with_an_interval(api: Api) -> None:
    found = answer(measured(api, QUESTION, QUESTION | {"base": [HERE]}), 200)
    first, second = found["questions"]
    assert list(first["base"]["measures"]) == list(found["measures"]) == list(MEASURES)
    assert (first["base"]["measures"]["mrr@10"], second["base"]["measures"]["mrr@10"]) == (0.5, 1)
    assert first["base"]["measures"]["ndcg@10"] == 0.63093
    assert "candidate" not in first
    assert found["measures"]["mrr@10"] == {
        "base": 0.75,
        "interval": {"mean": 0.75, "low": 0.5, "high": 1},
    }


@pytest.mark.parametrize(
    ("base", "candidate", "verdict"),
    [(HERE, ELSEWHERE, "worse"), (HERE, HERE, "not worse")],
)
def test_two_configurations_are_compared(
    api: Api, base: Place, candidate: Place, verdict: str
) -> None:
    pair = {"relevant": [HERE], "base": [base], "candidate": [candidate]}
    found = answer(measured(api, pair, pair), 200)
    recall = found["measures"]["recall@1"]
    before, after = (float(place == HERE) for place in (base, candidate))
    assert recall == {
        "base": before,
        "candidate": after,
        "interval": dict.fromkeys(("mean", "low", "high"), after - before),
        "verdict": verdict,
    }
    [reported, _] = found["questions"]
    assert reported["candidate"]["measures"]["recall@1"] == after


def test_a_question_that_nothing_answers_counts_in_no_mean(api: Api) -> None:
    unanswered = {"relevant": [], "others": [OTHER], "base": [OTHER, HERE], "candidate": []}
    found = answer(measured(api, QUESTION | {"candidate": [HERE]}, unanswered), 200)
    assert found["questions"][1] == {"base": {"not_judged": [2]}, "candidate": {"not_judged": []}}
    assert found["measures"]["mrr@10"]["base"] == 0.5
    alone = answer(measured(api, unanswered), 200)
    assert alone["measures"] == {}


def test_the_largest_request_is_answered_where_numbers_stand_for_pointers(api: Api) -> None:
    def places(question: int, first: int, count: int) -> list[Place]:
        numbers = range(first, first + count)
        return [at(10**8, 10**8 + 999, str(60 * question + number)) for number in numbers]

    judged = MAX_RANGES // MAX_QUESTIONS
    most = [
        {
            "relevant": places(question, 0, judged),
            "base": places(question, 0, DEPTH),
            "candidate": places(question, judged, DEPTH),
        }
        for question in range(MAX_QUESTIONS)
    ]
    found = answer(measured(api, *most), 200)
    assert len(found["questions"]) == MAX_QUESTIONS
    assert found["measures"]["recall@20"]["base"] == 1


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({}, "relevant"),
        ({"relevant": [HERE]}, "base"),
        ({**QUESTION, "query": "comets"}, "query"),
        ({**QUESTION, "candidate": None}, "candidate"),
        ({**QUESTION, "relevant": HERE}, "relevant"),
        ({**QUESTION, "relevant": [{**HERE, "grade": 3}]}, "grade"),
        ({**QUESTION, "base": [at(5, 5)]}, "base"),
        ({**QUESTION, "base": [at(-1, 5)]}, "char_start"),
        ({**QUESTION, "base": [{**HERE, "char_end": 5.0}]}, "char_end"),
        ({**QUESTION, "base": [{**HERE, "char_start": True}]}, "char_start"),
        ({**QUESTION, "base": [{**HERE, "char_end": 10**30}]}, "char_end"),
        ({**QUESTION, "base": [{**HERE, "json_pointer": None}]}, "json_pointer"),
        ({**QUESTION, "base": [at(0, 5, "/" * 100_001)]}, "json_pointer"),
        ({**QUESTION, "base": [HERE] * (DEPTH + 1)}, "base"),
        ({**QUESTION, "candidate": [HERE] * (DEPTH + 1)}, "candidate"),
        (5, "questions"),
    ],
    ids=lambda each: json.dumps(each)[:60],
)
def test_a_question_of_another_form_is_refused_with_its_field(
    api: Api, question: object, field: str
) -> None:
    refused = problem(measured(api, QUESTION, question), 422, "INVALID_INPUT")
    assert "questions.1" in refused["errors"][0]["field"]
    assert field in refused["errors"][0]["field"]


def test_there_are_a_thousand_questions_at_most_and_one_at_least(api: Api) -> None:
    problem(measured(api), 422, "INVALID_INPUT")
    problem(measured(api, *[QUESTION] * (MAX_QUESTIONS + 1)), 422, "INVALID_INPUT")
    problem(measured(api, QUESTION, more=1), 422, "INVALID_INPUT")


def test_judged_ranges_are_counted_over_all_questions(api: Api) -> None:
    half = QUESTION | {"relevant": [HERE] * (MAX_RANGES // 4), "others": [HERE] * (MAX_RANGES // 4)}
    answer(measured(api, half, half), 200)
    refused = problem(measured(api, half, half, QUESTION), 422, "INVALID_INPUT")
    assert "at most 20000 judged ranges in all" in refused["detail"]


def test_a_candidate_is_in_every_question_or_in_none(api: Api) -> None:
    refused = problem(measured(api, QUESTION, QUESTION | {"candidate": []}), 422, "INVALID_INPUT")
    assert "candidate must be in every question or in none" in refused["detail"]


@pytest.mark.parametrize("pointer", ["no pointer", "", "/\u202e", "/a~2"])
def test_a_pointer_is_only_compared(api: Api, pointer: str) -> None:
    place = at(0, 5, pointer)
    found = answer(measured(api, {"relevant": [place], "base": [HERE, place]}), 200)
    assert found["measures"]["recall@5"]["base"] == 1
