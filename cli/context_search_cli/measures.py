"""Measures of ranked passages against judged ranges, and what a difference is worth.

The same as ``evaluation/metrics.py`` of the repository, without numpy; a test holds both together.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

DEPTH = 20
"""How many passages of an answer are looked at."""
MEASURES = ("recall@1", "recall@5", "recall@20", "ndcg@10", "mrr@10", "coverage@5")
DRAWS = 2_000
"""Samples of a bootstrap."""
SEED = 7
Range = tuple[int, int]
Verdict = Literal["worse", "not worse", "better"]


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands: ``text[start:end]`` of the string at ``pointer``, code points."""

    pointer: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def score(gold: Sequence[Span], found: Sequence[Span]) -> dict[str, float]:
    """Returns the measures of one answer, each 0..1; ``found`` best first, ``gold`` not empty.

    A span is found at rank r when the first r passages cover half of it. ``coverage@5`` is the
    share of the judged characters that the first five passages hold.
    """
    ranks = sorted(rank for span in gold if (rank := found_at(span, found[:DEPTH])))
    recalls = {f"recall@{k}": sum(rank <= k for rank in ranks) / len(gold) for k in (1, 5, 20)}
    top = [rank for rank in ranks if rank <= 10]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(10, len(gold)) + 1))
    return recalls | {
        "ndcg@10": min(1.0, sum(1 / math.log2(rank + 1) for rank in top) / ideal),
        "mrr@10": 1 / top[0] if top else 0.0,
        "coverage@5": _coverage(gold, found[:5]),
    }


def found_at(gold: Span, found: Sequence[Span]) -> int | None:
    """Returns the rank by which the best of ``found`` cover half of a span, None: they do not."""
    parts: list[Range] = []
    for rank, span in enumerate(found, start=1):
        if part := _common(gold, span):
            parts.append(part)
            if 2 * _length(parts) >= gold.end - gold.start:
                return rank
    return None


def interval(values: Sequence[float]) -> Interval:
    """Returns the mean of one value a question, and what it would be with other questions.

    Percentile method (Efron, Tibshirani 1993), always with the same samples. Of two
    configurations give the differences: a paired comparison. ``values`` are not empty.
    """
    count = len(values)
    # Samples are the same for the same values; nothing here is secret.
    draw = random.Random(SEED)  # noqa: S311
    means = sorted(math.fsum(draw.choices(values, k=count)) / count for _ in range(DRAWS))
    return Interval(math.fsum(values) / count, _percentile(means, 0.025), _percentile(means, 0.975))


def verdict(difference: Interval) -> Verdict:
    """Says what paired differences, candidate less base, show: all of the interval beside zero."""
    if difference.high < 0:
        return "worse"
    return "better" if difference.low > 0 else "not worse"


def _percentile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _coverage(gold: Sequence[Span], found: Sequence[Span]) -> float:
    judged: dict[str, list[Range]] = {}
    covered: dict[str, list[Range]] = {}
    for span in gold:
        judged.setdefault(span.pointer, []).append((span.start, span.end))
        parts = (_common(span, other) for other in found)
        covered.setdefault(span.pointer, []).extend(part for part in parts if part)
    return sum(map(_length, covered.values())) / sum(map(_length, judged.values()))


def _common(one: Span, other: Span) -> Range | None:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return (start, end) if one.pointer == other.pointer and start < end else None


def _length(ranges: Iterable[Range]) -> int:
    """Characters in the union of ranges."""
    length, reached = 0, -1
    for start, end in sorted(ranges):
        if end > reached:
            length += end - max(start, reached)
            reached = end
    return length
