"""What is found out about an index by itself."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.ranking.calibration import (
    LEAST_QUESTIONS,
    LEAST_WEIGHT,
    LEAST_WEIGHT_OF_WEAK,
    LONGEST_ASKED,
    MARGIN,
    MOST_WEIGHT,
    STEPS,
    Cloze,
    EmbeddedCloze,
    Sample,
    SampledChunk,
    best_weight,
    cloze,
    null_calibration,
)
from context_search.ranking.relevance import CALIBRATIONS, LEAST_WIDTH, relevance
from context_search.ranking.unanswered import UNANSWERED
from context_search.text.chunking import window_texts
from tests.system import prose

[WEAK] = CALIBRATIONS
STRONG = "a-model-that-nobody-knows"
CHINESE = "".join(
    f"第{number}个港口的冬天很长。公证人每天早晨都要走过{number}座桥才能到达办公室。"
    f"采石场的租户在果园里种了{number}棵梨树，每年秋天把果实卖给铁路公司。"
    f"档案馆里保存着{number}年的账本，上面记着庄园的预算和红利。厨房的{number}个炉子没有熄灭过。"
    for number in (7, 31, 88)
)


@pytest.mark.parametrize("text", [prose(1_000), CHINESE])
@pytest.mark.parametrize("window_tokens", [0, 60, 100])
def test_a_sentence_comes_out_of_the_middle_of_a_chunk(text: str, window_tokens: int) -> None:
    windows = window_texts(text, window_tokens)
    found = cloze(windows, 40)
    assert found is not None
    place = text.index(found.question)
    assert 40 + MARGIN < place < len(text) - 40 - MARGIN - len(found.question)
    assert len(found.question) <= LONGEST_ASKED
    assert found.question in windows[found.window]
    assert found.question not in found.passage
    assert len(found.passage) < len(windows[found.window])


@given(st.text(alphabet="ab. \n。冬天!", max_size=400), st.sampled_from([0, 20, 50]))
def test_what_is_left_and_what_was_taken_are_the_window(text: str, window_tokens: int) -> None:
    windows = window_texts(text, window_tokens)
    found = cloze(windows, 5)
    if found is not None:
        window = windows[found.window]
        first = len(window) - len(found.passage)
        assert found.question in window
        assert len(found.question) <= first
        assert found.passage.strip()


@pytest.mark.parametrize(
    "text", ["", "short", "no end " * 100, prose(60), "One. Two. Three. " * 40, "。" * 500]
)
def test_a_text_without_a_usable_sentence_asks_nothing(text: str) -> None:
    assert cloze(window_texts(text, 0), 40) is None


def asked(chunk: SampledChunk, question: list[float], passage: list[float]) -> EmbeddedCloze:
    found = cloze([chunk.text], 10)
    assert found is not None
    return EmbeddedCloze(chunk, found, question, passage)


def chunks(count: int = 40) -> list[SampledChunk]:
    """Chunks of different strings; their vectors say nothing about their texts."""
    choose = random.Random(7)
    return [
        SampledChunk(prose(600, seed), (1, f"/{seed}"), 0, [[choose.gauss(0, 1) for _ in range(8)]])
        for seed in range(count)
    ]


def test_the_rest_of_a_chunk_is_first_where_a_leg_knows_it() -> None:
    sample = chunks()
    question = [1.0, *[0.0] * 7]
    gains = Sample(sample).gains(asked(sample[0], question, question))
    assert len(gains) == STEPS + 1
    assert gains[-1] == 1.0
    lost = Sample(sample).gains(asked(sample[0], question, [-value for value in question]))
    assert lost[-1] < 0.3


def test_a_neighbour_is_none_of_the_others() -> None:
    first, *others = chunks()
    question = [1.0, *[0.0] * 7]
    twin = replace(first, index=1, vectors=[question])
    other = replace(twin, index=2)
    with_neighbour = Sample([first, twin, *others]).gains(asked(first, question, question))
    with_other = Sample([first, other, *others]).gains(asked(first, question, question))
    assert with_neighbour[-1] == 1.0
    assert with_other[-1] < 1.0


def test_equal_samples_have_equal_gains() -> None:
    sample = chunks()
    question, rest = [0.3, *[0.2] * 7], [0.1] * 8
    one = Sample(sample).gains(asked(sample[3], question, rest))
    assert Sample(chunks()).gains(asked(sample[3], question, rest)) == one


def gains_of(*means: tuple[float, float]) -> list[list[float]]:
    """As many questions as are needed, each with its gain at weight 0 and at weight 1."""
    return [
        [low + (high - low) * step / STEPS for step in range(STEPS + 1)] for low, high in means
    ] * LEAST_QUESTIONS


@pytest.mark.parametrize(
    ("model", "gains", "weight"),
    [
        (STRONG, gains_of((0.2, 0.9)), MOST_WEIGHT),
        (STRONG, gains_of((0.9, 0.2)), LEAST_WEIGHT),
        (WEAK, gains_of((0.9, 0.2)), LEAST_WEIGHT_OF_WEAK),
        (STRONG, gains_of((0.5, 0.5)), 0.5),
        (WEAK, gains_of((0.5, 0.5)), 0.2),
        (WEAK, [[float(7 <= step <= 9) for step in range(STEPS + 1)]] * LEAST_QUESTIONS, 0.35),
        (STRONG, [[float(7 <= step <= 9) for step in range(STEPS + 1)]] * LEAST_QUESTIONS, 0.45),
        (WEAK, [[0.5 + 0.01 * (step == 10) for step in range(STEPS + 1)]] * LEAST_QUESTIONS, 0.2),
    ],
)
def test_the_weight_is_the_best_one_that_gains_enough_over_the_models_within_bounds(
    model: str, gains: list[list[float]], weight: float
) -> None:
    assert best_weight(gains, model) == pytest.approx(weight)


def test_few_questions_say_nothing() -> None:
    assert best_weight(gains_of((0.2, 0.9))[: LEAST_QUESTIONS - 1], STRONG) is None
    assert best_weight([], STRONG) is None


@given(st.lists(st.floats(-0.05, 0.05), min_size=1, max_size=60), st.floats(-0.5, 0.5))
def test_a_null_distribution_moves_with_its_cosines(cosines: list[float], by: float) -> None:
    found = null_calibration(cosines, STRONG)
    moved = null_calibration([cosine + by for cosine in cosines], STRONG)
    assert moved.middle == pytest.approx(found.middle + by, abs=1e-9)
    assert moved.width == pytest.approx(found.width, abs=1e-9)
    assert found.width >= LEAST_WIDTH
    assert found.middle >= min(cosines)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.sampled_from([STRONG, WEAK]))
def test_however_far_noise_spreads_a_passage_that_is_the_question_is_relevant(
    cosines: list[float], model: str
) -> None:
    found = null_calibration(cosines, model)
    assert relevance(1.0, {"harbour": 1.0}, [], found) > 0.7


def test_a_few_answered_questions_change_the_null_distribution_little() -> None:
    noise = [0.8 + 0.001 * number for number in range(40)]
    found = null_calibration(noise, STRONG)
    assert null_calibration([*noise, 0.99, 0.99], STRONG).middle < found.middle + 0.005
    assert found.middle > max(noise)
    assert null_calibration(noise, WEAK).middle > found.middle


def test_the_questions_that_no_index_answers_are_of_both_languages_and_differ() -> None:
    assert len(set(UNANSWERED)) == len(UNANSWERED) == 60
    assert sum(question.isascii() for question in UNANSWERED) == 30


def test_a_window_counts_as_the_nearest_one() -> None:
    first, *others = chunks()
    far, near = [-1.0, *[0.0] * 7], [1.0, *[0.0] * 7]
    several = replace(first, text=first.text, vectors=[far, near])
    found = cloze([several.text], 10)
    assert found is not None
    in_other = EmbeddedCloze(several, Cloze(found.question, 0, found.passage), near, far)
    assert Sample([several, *others]).gains(in_other)[-1] == 1.0
