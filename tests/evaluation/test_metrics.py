"""The measures on answers small enough to count by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluation.metrics import MEASURES, Span, interval, score

GOLD = [Span("/a", 0, 100), Span("/b", 50, 60)]
ELSEWHERE = Span("/c", 0, 100)


def test_a_span_is_found_where_half_of_it_is_covered() -> None:
    parts = [Span("/a", 0, 30), ELSEWHERE, Span("/a", 25, 51)]
    values = score(GOLD[:1], parts)
    assert values["recall@1"] == 0.0
    assert values["recall@5"] == 1.0
    assert values["mrr@10"] == pytest.approx(1 / 3)
    assert values["ndcg@10"] == pytest.approx(1 / math.log2(4))
    assert values["coverage@5"] == pytest.approx(0.51)


def test_the_best_answer_has_every_measure_at_one() -> None:
    values = score(GOLD, [Span("/a", 0, 100), Span("/b", 0, 100)])
    assert {name: values[name] for name in MEASURES if name != "recall@1"} == pytest.approx(
        dict.fromkeys(MEASURES[1:], 1.0)
    )
    assert values["recall@1"] == 0.5


def test_one_passage_with_both_spans_counts_no_more_than_the_ideal() -> None:
    both = [Span("/a", 0, 10), Span("/a", 20, 30)]
    assert score(both, [Span("/a", 0, 30)])["ndcg@10"] == 1.0


def test_the_same_range_of_another_string_is_no_hit() -> None:
    assert set(score(GOLD[:1], [ELSEWHERE] * 20).values()) == {0.0}


def test_what_comes_after_the_depth_of_a_measure_does_not_count() -> None:
    values = score(GOLD[:1], [ELSEWHERE] * 10 + GOLD[:1])
    assert values["recall@20"] == 1.0
    assert values["ndcg@10"] == values["mrr@10"] == values["recall@5"] == 0.0


def test_an_interval_lies_around_the_mean_of_the_groups() -> None:
    groups = [np.array([0.0, 1.0] * 50), np.ones(10)]
    mean, low, high = interval(groups)
    assert mean == 0.75
    assert 0.69 < low < mean < high < 0.81


def test_equal_values_leave_nothing_to_doubt() -> None:
    assert interval([np.full(9, 0.25)]) == (0.25, 0.25, 0.25)
