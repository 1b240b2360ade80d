"""Rank fusion: ranked lists into one, as pure functions over scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

Leg = Mapping[str, float]
"""Scores of one ranked list by id; higher is better. An id that is missing was not ranked."""
HALF_LIFE_DAYS = 30.0
_DAY_S = 86_400.0


def reciprocal_rank_fusion(
    legs: Sequence[Leg], weights: Sequence[float], *, k: int = 60
) -> dict[str, float]:
    """Returns the sum over the legs of ``weight / (k + rank)``, ranks from 1, ties as they come.

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


def linear_combination(
    parts: Sequence[Mapping[str, float]], weights: Sequence[float]
) -> dict[str, float]:
    """Returns the weighted mean of scores that are 0..1 already; a missing one counts 0.

    >>> linear_combination([{"a": 1.0}, {"a": 0.5, "b": 1.0}], [3, 1])
    {'a': 0.875, 'b': 0.25}
    """
    total = sum(weights) or 1.0
    fused: dict[str, float] = {}
    for part, weight in zip(parts, weights, strict=True):
        for name, score in part.items():
            fused[name] = fused.get(name, 0.0) + weight / total * score
    return fused


def min_max(leg: Leg) -> dict[str, float]:
    """Returns the scores moved to 0..1; when all are equal, all are 1."""
    if not leg:
        return {}
    low, high = min(leg.values()), max(leg.values())
    width = high - low
    return {name: (score - low) / width if width else 1.0 for name, score in leg.items()}


def max_normalised(leg: Mapping[str, float]) -> dict[str, float]:
    """Returns the scores as shares of the best one; what is below 0 counts as 0.

    Unlike min-max this leaves the weakest candidate more than nothing.

    >>> max_normalised({"a": 8.0, "b": 2.0})
    {'a': 1.0, 'b': 0.25}
    """
    best = max(leg.values(), default=0.0)
    return {name: max(0.0, score) / best if best > 0 else 0.0 for name, score in leg.items()}


def recency(changed_at: datetime, now: datetime) -> float:
    """Returns 1 for a text that changed just now, a half after 30 days, a quarter after 60.

    >>> from datetime import UTC, datetime
    >>> recency(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC))
    0.5
    """
    age_days = max(0.0, (now - changed_at).total_seconds()) / _DAY_S
    return float(0.5 ** (age_days / HALF_LIFE_DAYS))


def ranking(scores: Leg) -> list[str]:
    """Returns the ids best first; equal scores keep the order that they have in ``scores``."""
    return sorted(scores, key=scores.__getitem__, reverse=True)
