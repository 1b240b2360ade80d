"""Two ranked lists become one: what may change the order and what may not."""

from __future__ import annotations

import doctest
import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.ranking import fusion
from context_search.ranking.fusion import (
    Leg,
    convex_combination,
    min_max,
    ranking,
    reciprocal_rank_fusion,
    rounded,
    total,
)

Fuse = Callable[[Sequence[Leg], Sequence[float]], dict[str, float]]
SCORES = st.floats(-1e6, 1e6).map(lambda score: round(score, 3))
LEGS = st.dictionaries(st.text("abcde", min_size=1, max_size=2), SCORES, max_size=8)
WEIGHTS = st.floats(0.01, 1.0)


def by_rank(legs: Sequence[Leg], weights: Sequence[float]) -> dict[str, float]:
    """The scores of rank fusion."""
    return total(reciprocal_rank_fusion(legs, weights))


def convex(legs: Sequence[Leg], weights: Sequence[float]) -> dict[str, float]:
    """The scores of a convex combination."""
    return total(convex_combination(legs, weights))


BOTH = pytest.mark.parametrize("fuse", [by_rank, convex])


def shuffled(leg: Leg) -> Leg:
    """The same scores in another order of insertion."""
    return dict(sorted(leg.items(), reverse=True))


def without_ties(leg: Leg) -> Leg:
    """One name for each score."""
    return {name: score for score, name in {score: name for name, score in leg.items()}.items()}


def close(one: Leg, other: Leg) -> bool:
    """Equal but for rounding."""
    return one.keys() == other.keys() and all(
        math.isclose(one[name], other[name], abs_tol=1e-12) for name in one
    )


@given(st.dictionaries(st.text(max_size=3), st.floats(-1, 1), max_size=10))
def test_rounded_shares_sum_to_the_rounded_sum(shares: dict[str, float]) -> None:
    whole = sum(shares.values())
    counts = {name: round(share * 10**6) for name, share in rounded(whole, shares, 6).items()}
    assert sum(counts.values()) == (round(round(whole, 6) * 10**6) if shares else 0)
    assert all(abs(counts[name] - shares[name] * 10**6) <= 1.000_1 for name in shares)


def test_the_examples_of_the_documentation_hold() -> None:
    assert doctest.testmod(fusion) == (0, 8)


@BOTH
@given(one=LEGS, other=LEGS, weight=WEIGHTS, other_weight=WEIGHTS)
def test_the_order_in_which_results_arrive_changes_nothing(
    fuse: Fuse, one: Leg, other: Leg, weight: float, other_weight: float
) -> None:
    legs = [without_ties(leg) for leg in (one, other)]
    fused = fuse(legs, [weight, other_weight])
    assert fused == fuse([shuffled(leg) for leg in legs], [weight, other_weight])


@BOTH
@given(one=LEGS, other=LEGS, weight=WEIGHTS, other_weight=WEIGHTS)
def test_the_order_of_the_legs_changes_nothing(
    fuse: Fuse, one: Leg, other: Leg, weight: float, other_weight: float
) -> None:
    fused = fuse([one, other], [weight, other_weight])
    assert close(fused, fuse([other, one], [other_weight, weight]))
    assert fused.keys() == one.keys() | other.keys()


@BOTH
@given(leg=LEGS, weight=WEIGHTS)
def test_one_leg_alone_keeps_its_order(fuse: Fuse, leg: Leg, weight: float) -> None:
    assert ranking(fuse([leg], [weight])) == ranking(leg)
    assert ranking(fuse([leg, {}], [weight, 1.0])) == ranking(leg)


@BOTH
def test_the_weight_decides_between_two_first_places(fuse: Fuse) -> None:
    vector, keyword = {"v": 0.9, "k": 0.1}, {"k": 12.0, "v": 3.0}
    assert ranking(fuse([vector, keyword], [0.7, 0.3])) == ["v", "k"]
    assert ranking(fuse([vector, keyword], [0.3, 0.7])) == ["k", "v"]


@BOTH
def test_ties_keep_their_order(fuse: Fuse) -> None:
    assert ranking(fuse([{"b": 1.0}, {"a": 1.0}], [0.5, 0.5])) == ["b", "a"]
    assert ranking({"c": 1.0, "a": 1.0, "b": 2.0}) == ["b", "c", "a"]


@BOTH
def test_a_weight_of_zero_silences_a_leg(fuse: Fuse) -> None:
    fused = fuse([{"a": 1.0, "b": 0.5}, {"b": 9.0, "c": 1.0}], [1.0, 0.0])
    assert ranking(fused)[0] == "a"
    assert fused["c"] == 0.0


@BOTH
def test_every_leg_needs_a_weight(fuse: Fuse) -> None:
    with pytest.raises(ValueError, match="zip"):
        fuse([{"a": 1.0}, {"b": 1.0}], [1.0])


@given(LEGS, LEGS, WEIGHTS, WEIGHTS)
def test_a_convex_combination_lies_between_0_and_1(
    one: Leg, other: Leg, weight: float, other_weight: float
) -> None:
    fused = convex([one, other], [weight, other_weight])
    assert all(0.0 <= score <= 1.0 + 1e-9 for score in fused.values())


@given(LEGS, LEGS, WEIGHTS, WEIGHTS)
def test_only_the_proportion_of_the_weights_counts(
    one: Leg, other: Leg, weight: float, other_weight: float
) -> None:
    fused = convex([one, other], [weight, other_weight])
    assert close(fused, convex([one, other], [weight * 8, other_weight * 8]))


@given(LEGS, WEIGHTS)
def test_the_scale_of_a_leg_does_not_count(leg: Leg, weight: float) -> None:
    moved = {name: score * 4 + 16 for name, score in leg.items()}
    assert ranking(min_max(moved)) == ranking(min_max(leg))
    assert by_rank([moved], [weight]) == by_rank([leg], [weight])


def test_the_formula_of_the_seed_gives_its_numbers() -> None:
    fused = by_rank([{"a": 2.0, "b": 1.0}, {"b": 5.0}], [0.7, 0.3])
    assert fused == {"a": 0.7 / 61, "b": 0.7 / 62 + 0.3 / 61}


def test_no_results_and_equal_results_have_a_defined_scale() -> None:
    assert min_max({}) == {}
    assert min_max({"a": 3.0, "b": 3.0}) == {"a": 1.0, "b": 1.0}
    assert convex([{}, {}], [0.5, 0.5]) == {}
    assert convex([{"a": 1.0}], [0.0]) == {"a": 0.0}
