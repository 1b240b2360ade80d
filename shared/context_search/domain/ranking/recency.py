"""The linear ranking of project search, and how age counts in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

HALF_LIFE_DAYS = 30.0
_DAY_S = 86_400.0


def recency(changed_at: datetime, now: datetime) -> float:
    """Returns 1 for a text that changed just now, a half after 30 days, a quarter after 60.

    >>> from datetime import UTC, datetime
    >>> recency(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 31, tzinfo=UTC))
    0.5
    """
    age_days = max(0.0, (now - changed_at).total_seconds()) / _DAY_S
    return float(0.5 ** (age_days / HALF_LIFE_DAYS))


def max_normalised(leg: Mapping[str, float]) -> dict[str, float]:
    """Returns the scores as shares of the best one; what is below 0 counts as 0.

    Unlike min-max this leaves the weakest candidate more than nothing.

    >>> max_normalised({"a": 8.0, "b": 2.0})
    {'a': 1.0, 'b': 0.25}
    """
    best = max(leg.values(), default=0.0)
    return {name: max(0.0, score) / best if best > 0 else 0.0 for name, score in leg.items()}


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
