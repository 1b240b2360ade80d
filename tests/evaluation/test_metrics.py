"""The measures on answers small enough to count by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


SPANS = st.builds(
    lambda pointer, start, length: Span(pointer, start, start + length),
    st.sampled_from(["/a", "/b"]),
    st.integers(0, 30),
    st.integers(1, 12),
)


def places(spans: list[Span]) -> set[tuple[str, int]]:
    return {(span.pointer, at) for span in spans for at in range(span.start, span.end)}


@given(st.lists(SPANS, min_size=1, max_size=12), st.lists(SPANS, max_size=30))
def test_the_measures_are_what_counting_every_character_gives(
    gold: list[Span], found: list[Span]
) -> None:
    def rank(span: Span) -> float:
        wanted = places([span])
        upto = (k for k in range(1, 21) if 2 * len(wanted & places(found[:k])) >= len(wanted))
        return next(upto, math.inf)

    ranks = sorted(map(rank, gold))
    gains = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 10)
    ideal = sum(1 / math.log2(n + 2) for n in range(min(10, len(gold))))
    expected = {f"recall@{k}": sum(rank <= k for rank in ranks) / len(gold) for k in (1, 5, 20)}
    expected["ndcg@10"] = min(1.0, gains / ideal)
    expected["mrr@10"] = 1 / ranks[0] if ranks[0] <= 10 else 0.0
    expected["coverage@5"] = len(places(gold) & places(found[:5])) / len(places(gold))
    assert score(gold, found) == pytest.approx(expected)
