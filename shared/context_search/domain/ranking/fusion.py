"""Rank fusion: two ranked lists into one, as pure functions over scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Leg = Mapping[str, float]
"""Scores of one ranked list by id; higher is better. An id that is missing was not ranked."""


def reciprocal_rank_fusion(
    legs: Sequence[Leg], weights: Sequence[float], *, k: int = 60
) -> dict[str, float]:
    """Returns the sum over the legs of ``weight / (k + rank)``, ranks from 1, ties by id.

    Source: Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and
    individual rank learning methods (SIGIR 2009), with weights.

    >>> reciprocal_rank_fusion([{"a": 0.9, "b": 0.5}, {"b": 7.0}], [1.0, 1.0], k=1)
    {'a': 0.5, 'b': 0.8333333333333333}
    """
    fused: dict[str, float] = {}
    for leg, weight in zip(legs, weights, strict=True):
        for rank, name in enumerate(ranking(leg), start=1):
            fused[name] = fused.get(name, 0.0) + weight / (k + rank)
    return fused


def convex_combination(legs: Sequence[Leg], weights: Sequence[float]) -> dict[str, float]:
    """Returns the weighted mean of the legs' min-max normalised scores, in 0..1.

    An id that a leg did not rank counts 0 there, as the worst that it did rank.
    Source: Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval (TOIS 2023).

    >>> convex_combination([{"a": 0.9, "b": 0.5}, {"b": 7.0, "c": 3.0}], [0.5, 0.5])
    {'a': 0.5, 'b': 0.5, 'c': 0.0}
    """
    total = sum(weights) or 1.0
    fused: dict[str, float] = {}
    for leg, weight in zip(legs, weights, strict=True):
        for name, score in min_max(leg).items():
            fused[name] = fused.get(name, 0.0) + weight / total * score
    return fused


def min_max(leg: Leg) -> dict[str, float]:
    """Returns the scores moved to 0..1; when all are equal, all are 1."""
    if not leg:
        return {}
    low, high = min(leg.values()), max(leg.values())
    width = high - low
    return {name: (score - low) / width if width else 1.0 for name, score in leg.items()}


def ranking(scores: Leg) -> list[str]:
    """Returns the ids best first; equal scores are ordered by id, so the order is stable."""
    return sorted(scores, key=lambda name: (-scores[name], name))
