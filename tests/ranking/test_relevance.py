"""A number between 0 and 1 that grows with the evidence and knows nothing of other hits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.ranking.relevance import (
    CALIBRATIONS,
    DEFAULT_CALIBRATION,
    SIGNS_ONLY,
    Calibration,
    coverage,
    relevance,
    worth,
)

COSINES = st.floats(-1.0, 1.0)
TOKENS = st.lists(st.text("ab中", min_size=1, max_size=6), max_size=6)
WORDS = st.dictionaries(st.text("ab中", min_size=1, max_size=6), st.floats(0.01, 1.0), max_size=6)
MODELS = pytest.mark.parametrize("calibration", [*CALIBRATIONS.values(), DEFAULT_CALIBRATION])


@MODELS
@given(cosine=st.none() | COSINES, query=WORDS, chunk=TOKENS)
def test_relevance_lies_between_0_and_1(
    calibration: Calibration, cosine: float | None, query: dict[str, float], chunk: list[str]
) -> None:
    assert 0.0 <= relevance(cosine, query, chunk, calibration) <= 1.0


@MODELS
@given(cosines=st.tuples(COSINES, COSINES), query=WORDS, chunk=TOKENS)
def test_a_closer_vector_is_never_less_relevant(
    calibration: Calibration,
    cosines: tuple[float, float],
    query: dict[str, float],
    chunk: list[str],
) -> None:
    low, high = (relevance(cosine, query, chunk, calibration) for cosine in sorted(cosines))
    assert low <= high


@given(cosine=st.none() | COSINES, query=WORDS, chunk=TOKENS, more=TOKENS)
def test_more_words_of_the_question_are_never_less_relevant(
    cosine: float | None, query: dict[str, float], chunk: list[str], more: list[str]
) -> None:
    fewer = relevance(cosine, query, chunk, DEFAULT_CALIBRATION)
    assert fewer <= relevance(cosine, query, chunk + more, DEFAULT_CALIBRATION)


@given(COSINES, WORDS, TOKENS)
def test_both_kinds_of_evidence_are_at_least_as_good_as_each(
    cosine: float, query: dict[str, float], chunk: list[str]
) -> None:
    both = relevance(cosine, query, chunk, DEFAULT_CALIBRATION)
    assert both >= relevance(None, query, chunk, DEFAULT_CALIBRATION)
    assert both >= relevance(cosine, query, [], DEFAULT_CALIBRATION)


def test_the_middle_of_a_calibration_is_as_likely_as_not() -> None:
    assert relevance(0.42, {"x": 1.0}, [], Calibration(0.42, 0.06)) == pytest.approx(0.5)
    assert relevance(0.48, {"x": 1.0}, [], Calibration(0.42, 0.06)) == pytest.approx(
        0.731, abs=1e-3
    )


def test_without_any_evidence_there_is_no_relevance() -> None:
    assert relevance(None, {"a": 1.0}, ["b"], DEFAULT_CALIBRATION) == 0.0
    assert relevance(None, {}, [], DEFAULT_CALIBRATION) == 0.0


@given(cosine=COSINES)
def test_a_question_without_words_is_at_most_as_likely_as_not(cosine: float) -> None:
    assert relevance(cosine, {}, ["x"], DEFAULT_CALIBRATION) <= 0.5


def test_words_alone_never_make_it_certain() -> None:
    assert 0.95 < relevance(None, {"all": 1.0}, ["all"], DEFAULT_CALIBRATION) < 1.0


def test_coverage_is_a_share_in_which_longer_words_weigh_more() -> None:
    assert coverage({"a": 1.0, "word": 1.0}, ["word"]) == pytest.approx(0.8)
    assert coverage({"a": 1.0, "word": 1.0}, ["a"]) == pytest.approx(0.2)
    assert coverage({"wordlong": 1.0, "word": 1.0}, ["word"]) == 0.5
    assert coverage({}, ["a"]) == 0.0


def test_coverage_counts_a_word_as_much_as_the_question_does() -> None:
    assert coverage({"word": 1.0, "2.0": 0.5, "2": 0.25, "0": 0.25}, ["word"]) == pytest.approx(
        2 / 3
    )
    assert coverage({"a": 0.5, "b": 0.5}, ["a"]) == 0.5


def test_a_text_of_signs_only_counts_little() -> None:
    assert [worth(text) for text in ("🦜", "__ —", "½", "中", "🦜 a", "")] == [
        SIGNS_ONLY,
        SIGNS_ONLY,
        1.0,
        1.0,
        1.0,
        SIGNS_ONLY,
    ]
