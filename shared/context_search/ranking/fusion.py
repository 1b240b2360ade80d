"""Rank fusion: ranked lists into one, as pure functions over scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

Leg = Mapping[str, float]
"""Scores of one ranked list by id; higher is better. An id that is missing was not ranked."""
HALF_LIFE_DAYS = 30.0
_DAY_S = 86_400.0


def total(shares: Iterable[Leg]) -> dict[str, float]:
    """Returns the sum of each id's shares.

    >>> total([{"a": 0.5}, {"b": 1.0, "a": 0.25}])
    {'a': 0.75, 'b': 1.0}
    """
    scores: dict[str, float] = {}
    for share in shares:
        for name, score in share.items():
            scores[name] = scores.get(name, 0.0) + score
    return scores


def reciprocal_rank_fusion(
    legs: Sequence[Leg], weights: Sequence[float], *, k: int = 60
) -> list[dict[str, float]]:
    """Returns the legs' shares: ``weight / (k + rank)``, ranks from 1, ties as they come.

    Source: Cormack, Clarke, Buettcher: Reciprocal Rank Fusion outperforms Condorcet and
    individual rank learning methods (SIGIR 2009), with weights.

    >>> reciprocal_rank_fusion([{"a": 0.9, "b": 0.5}, {"b": 7.0}], [1.0, 1.0], k=1)
    [{'a': 0.5, 'b': 0.3333333333333333}, {'b': 0.5}]
    """
    return [
        {name: weight / (k + rank) for rank, name in enumerate(ranking(leg), start=1)}
        for leg, weight in zip(legs, weights, strict=True)
    ]


def convex_combination(legs: Sequence[Leg], weights: Sequence[float]) -> list[dict[str, float]]:
    """Returns the legs' shares in the weighted mean of their min-max normalised scores, in 0..1.

    An id that a leg did not rank counts 0 there, as the worst that it did rank.
    Source: Bruch, Gai, Ingber: An Analysis of Fusion Functions for Hybrid Retrieval (TOIS 2023).

    >>> convex_combination([{"a": 0.9, "b": 0.5}, {"b": 7.0, "c": 3.0}], [0.5, 0.5])
    [{'a': 0.5, 'b': 0.0}, {'b': 0.5, 'c': 0.0}]
    """
    return linear_combination([min_max(leg) for leg in legs], weights)


def linear_combination(parts: Sequence[Leg], weights: Sequence[float]) -> list[dict[str, float]]:
    """Returns shares in the weighted mean of scores that are 0..1 already; a missing one counts 0.

    >>> linear_combination([{"a": 1.0}, {"a": 0.5, "b": 1.0}], [3, 1])
    [{'a': 0.75}, {'a': 0.125, 'b': 0.25}]
    """
    whole = sum(weights) or 1.0
    return [
        {name: share * score for name, score in part.items()}
        for part, share in zip(parts, [weight / whole for weight in weights], strict=True)
    ]


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
    if best <= 0.0:
        return dict.fromkeys(leg, 0.0)
    return {name: score / best if score > 0.0 else 0.0 for name, score in leg.items()}


def recency(changed_at: datetime, now: datetime) -> float:
    """Returns 1 for a text that changed just now, a half after 30 days, a quarter after 60.

    >>> from datetime import UTC, datetime
    >>> recency(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC))
    0.5
    """
    age_days = max(0.0, (now - changed_at).total_seconds()) / _DAY_S
    return float(0.5 ** (age_days / HALF_LIFE_DAYS))


def rounded(whole: float, shares: Leg, digits: int) -> dict[str, float]:
    """Returns the shares of a sum, rounded so that they sum to the rounded sum exactly.

    Each is off by less than a unit of its last digit.

    >>> rounded(0.1, {"a": 0.0333, "b": 0.0333, "c": 0.0334}, 2)
    {'a': 0.03, 'b': 0.03, 'c': 0.04}
    """
    unit = 10**digits
    counts = {name: round(share * unit) for name, share in shares.items()}
    missing = round(round(whole, digits) * unit) - sum(counts.values())
    step = 1 if missing > 0 else -1
    # Those first that rounding has moved furthest the other way.
    moved = sorted(shares, key=lambda name: step * (counts[name] - shares[name] * unit))
    for name in moved[: abs(missing)]:
        counts[name] += step
    return {name: count / unit for name, count in counts.items()}


def ranking(scores: Leg) -> list[str]:
    """Returns the ids best first; equal scores keep the order that they have in ``scores``."""
    return sorted(scores, key=scores.__getitem__, reverse=True)


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores, and what they are the sums of: the shares of each part, by id.

    ``fused`` are the scores before anything but the legs has counted, ``fused_parts`` what these
    are the sums of.
    """

    scores: Leg
    parts: Mapping[str, Leg]
    fused: Leg = field(default_factory=dict)
    fused_parts: Mapping[str, Leg] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str], shares: Sequence[Leg]) -> Scored:
        """Returns the sums of shares that go by these names."""
        scores, parts = total(shares), dict(zip(names, shares, strict=True))
        return cls(scores, parts, scores, parts)

    def then(self, part: str, scores: Leg) -> Scored:
        """Returns the scores as one part more has changed them."""
        before = self.scores
        added = {name: score - before[name] for name, score in scores.items()}
        return replace(self, scores=scores, parts={**self.parts, part: added})


def shares_of(parts: Mapping[str, Leg], name: str) -> dict[str, float]:
    """Returns what has added to one score, by part."""
    found = ((part, shares.get(name)) for part, shares in parts.items())
    return {part: share for part, share in found if share}
