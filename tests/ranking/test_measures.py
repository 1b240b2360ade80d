"""The measures on answers small enough to count by hand."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.ranking.measures import (
    MEASURES,
    Comparison,
    Interval,
    TextRange,
    compared,
    interval,
    is_judged,
    means,
    score,
)

GOLD = [TextRange("/a", 0, 100), TextRange("/b", 50, 60)]
ELSEWHERE = TextRange("/c", 0, 100)


def test_a_span_is_found_where_half_of_it_is_covered() -> None:
    parts = [TextRange("/a", 0, 30), ELSEWHERE, TextRange("/a", 25, 51)]
    values = score(GOLD[:1], parts)
    assert values["recall@1"] == 0.0
    assert values["recall@5"] == 1.0
    assert values["mrr@10"] == pytest.approx(1 / 3)
    assert values["ndcg@10"] == pytest.approx(1 / math.log2(4))
    assert values["coverage@5"] == pytest.approx(0.51)


def test_the_best_answer_has_every_measure_at_one() -> None:
    values = score(GOLD, [TextRange("/a", 0, 100), TextRange("/b", 0, 100)])
    assert {name: values[name] for name in MEASURES if name != "recall@1"} == pytest.approx(
        dict.fromkeys(MEASURES[1:], 1.0)
    )
    assert values["recall@1"] == 0.5


def test_one_passage_with_both_spans_counts_no_more_than_the_ideal() -> None:
    both = [TextRange("/a", 0, 10), TextRange("/a", 20, 30)]
    assert score(both, [TextRange("/a", 0, 30)])["ndcg@10"] == 1.0


def test_the_same_range_of_another_string_is_no_hit() -> None:
    assert set(score(GOLD[:1], [ELSEWHERE] * 20).values()) == {0.0}


def test_what_comes_after_the_depth_of_a_measure_does_not_count() -> None:
    values = score(GOLD[:1], [ELSEWHERE] * 10 + GOLD[:1])
    assert values["recall@20"] == 1.0
    assert values["ndcg@10"] == values["mrr@10"] == values["recall@5"] == 0.0


def test_an_interval_lies_around_the_mean_of_the_groups() -> None:
    found = interval([0.0, 1.0] * 50, [1.0] * 10)
    assert found.mean == 0.75
    assert 0.69 < found.low < found.mean < found.high < 0.81
    assert found == interval([0.0, 1.0] * 50, [1.0] * 10)


def test_equal_values_leave_nothing_to_doubt() -> None:
    assert interval([0.25] * 9) == Interval(0.25, 0.25, 0.25)


def test_an_interval_is_as_wide_as_the_spread_of_the_values_says() -> None:
    draw = random.Random(5)
    values = [draw.uniform(-0.5, 0.7) for _ in range(400)]
    found = interval(values)
    deviation = 1.96 * statistics.stdev(values) / math.sqrt(len(values))
    assert found.mean == pytest.approx(statistics.fmean(values))
    assert found.low == pytest.approx(found.mean - deviation, abs=0.1 * deviation)
    assert found.high == pytest.approx(found.mean + deviation, abs=0.1 * deviation)


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [(-0.3, "worse"), (-0.1, "worse"), (0.0, "not worse"), (0.1, "better"), (0.3, "better")],
)
def test_a_verdict_is_given_where_the_whole_difference_lies_beside_zero(
    shift: float, verdict: str
) -> None:
    draw = random.Random(6)
    base = [draw.random() for _ in range(100)]
    candidate = [each + shift + draw.uniform(-0.2, 0.2) for each in base]
    before, after = (
        [dict.fromkeys(MEASURES, value) for value in values] for values in (base, candidate)
    )
    found = compared(before, after)["ndcg@10"]
    assert found.verdict == verdict
    assert found.base == means(before)["ndcg@10"].mean
    assert found.difference.mean == pytest.approx(found.candidate - found.base)


@pytest.mark.parametrize("ends", [(-1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (-1.0, 1.0)])
def test_an_interval_that_touches_zero_decides_nothing(ends: tuple[float, float]) -> None:
    assert Comparison(0.5, 0.5, Interval(0.0, *ends)).verdict == "not worse"


def test_a_passage_is_judged_by_half_of_it_or_half_of_an_answer() -> None:
    gold, others = [TextRange("/a", 100, 140)], [TextRange("/a", 1000, 1200)]
    assert is_judged(TextRange("/a", 0, 120), gold, others)
    assert not is_judged(TextRange("/a", 0, 119), gold, others)
    assert not is_judged(TextRange("/b", 0, 120), gold, others)
    assert is_judged(TextRange("/a", 1100, 1300), gold, others)
    assert not is_judged(TextRange("/a", 1101, 1301), gold, others)
    # A small passage that does not answer says nothing of a large one around it.
    assert not is_judged(TextRange("/a", 900, 1400), gold, others)


SPANS = st.builds(
    lambda pointer, start, length: TextRange(pointer, start, start + length),
    st.sampled_from(["/a", "/b"]),
    st.integers(0, 30),
    st.integers(1, 12),
)


def places(spans: list[TextRange]) -> set[tuple[str, int]]:
    return {(span.pointer, at) for span in spans for at in range(span.start, span.end)}


@given(st.lists(SPANS, min_size=1, max_size=12), st.lists(SPANS, max_size=30))
def test_the_measures_are_what_counting_every_character_gives(
    gold: list[TextRange], found: list[TextRange]
) -> None:
    def rank(span: TextRange) -> float:
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
