"""A number between 0 and 1 that grows with the evidence and knows nothing of other hits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.domain.relevance import (
    CALIBRATIONS,
    DEFAULT_CALIBRATION,
    Calibration,
    coverage,
    relevance,
)

COSINES = st.floats(-1.0, 1.0)
TOKENS = st.lists(st.text("ab中", min_size=1, max_size=6), max_size=6)
MODELS = pytest.mark.parametrize("calibration", [*CALIBRATIONS.values(), DEFAULT_CALIBRATION])


@MODELS
@given(cosine=st.none() | COSINES, query=TOKENS, chunk=TOKENS)
def test_relevance_lies_between_0_and_1(
    calibration: Calibration, cosine: float | None, query: list[str], chunk: list[str]
) -> None:
    assert 0.0 <= relevance(cosine, query, chunk, calibration) <= 1.0


@MODELS
@given(cosines=st.tuples(COSINES, COSINES), query=TOKENS, chunk=TOKENS)
def test_a_closer_vector_is_never_less_relevant(
    calibration: Calibration, cosines: tuple[float, float], query: list[str], chunk: list[str]
) -> None:
    low, high = (relevance(cosine, query, chunk, calibration) for cosine in sorted(cosines))
    assert low <= high


@given(cosine=st.none() | COSINES, query=TOKENS, chunk=TOKENS, more=TOKENS)
def test_more_words_of_the_question_are_never_less_relevant(
    cosine: float | None, query: list[str], chunk: list[str], more: list[str]
) -> None:
    fewer = relevance(cosine, query, chunk, DEFAULT_CALIBRATION)
    assert fewer <= relevance(cosine, query, chunk + more, DEFAULT_CALIBRATION)


@given(COSINES, TOKENS, TOKENS)
def test_both_kinds_of_evidence_are_at_least_as_good_as_each(
    cosine: float, query: list[str], chunk: list[str]
) -> None:
    both = relevance(cosine, query, chunk, DEFAULT_CALIBRATION)
    assert both >= relevance(None, query, chunk, DEFAULT_CALIBRATION)
    assert both >= relevance(cosine, query, [], DEFAULT_CALIBRATION)


def test_the_middle_of_a_calibration_is_as_likely_as_not() -> None:
    assert relevance(0.42, ["x"], [], Calibration(0.42, 0.06)) == pytest.approx(0.5)
    assert relevance(0.48, ["x"], [], Calibration(0.42, 0.06)) == pytest.approx(0.731, abs=1e-3)


def test_without_any_evidence_there_is_no_relevance() -> None:
    assert relevance(None, ["a"], ["b"], DEFAULT_CALIBRATION) == 0.0
    assert relevance(None, [], [], DEFAULT_CALIBRATION) == 0.0


@given(cosine=COSINES)
def test_a_question_without_words_is_at_most_as_likely_as_not(cosine: float) -> None:
    assert relevance(cosine, [], ["x"], DEFAULT_CALIBRATION) <= 0.5


def test_words_alone_never_make_it_certain() -> None:
    assert 0.95 < relevance(None, ["all"], ["all"], DEFAULT_CALIBRATION) < 1.0


def test_coverage_is_a_share_in_which_longer_words_weigh_more() -> None:
    assert coverage(["a", "word"], ["word"]) == pytest.approx(0.8)
    assert coverage(["a", "word"], ["a"]) == pytest.approx(0.2)
    assert coverage(["wordlong", "word"], ["word"]) == 0.5
    assert coverage(["a", "a", "b"], ["a"]) == 0.5  # said twice is asked once
    assert coverage([], ["a"]) == 0.0
