"""Measures of ranked passages against judged spans, and what a difference is worth.

A span is found at rank r when the union of the first r passages covers at least half of it.
nDCG counts each span at the rank where it is found, gain 1 (Järvelin, Kekäläinen 2002); the ideal
is one span a rank.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

DEPTH = 20
"""How many passages of an answer are looked at."""
Measure = Literal["recall@1", "recall@5", "recall@20", "ndcg@10", "mrr@10", "coverage@5"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
DRAWS = 2_000
"""Samples of a bootstrap."""
SEED = 7
Scores = Mapping[Measure, float]
"""The measures of one answer, each 0..1."""
Range = tuple[int, int]
Verdict = Literal["worse", "not worse", "better"]


@dataclass(frozen=True, slots=True)
class TextRange:
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


@dataclass(frozen=True, slots=True)
class Comparison:
    """The means of one measure, and its paired difference: candidate less base."""

    base: float
    candidate: float
    difference: Interval

    @property
    def verdict(self) -> Verdict:
        """Worse or better where the whole interval of the difference is beside zero."""
        if self.difference.high < 0:
            return "worse"
        return "better" if self.difference.low > 0 else "not worse"


def score(gold: Sequence[TextRange], found: Sequence[TextRange]) -> dict[Measure, float]:
    """Returns the measures of one answer; ``found`` best first, ``gold`` not empty.

    ``coverage@5`` is the share of the judged characters that the first five passages hold.
    """
    ranks = sorted(rank for span in gold if (rank := _found_at(span, found[:DEPTH])))
    top = [rank for rank in ranks if rank <= 10]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(10, len(gold)) + 1))
    return {
        "recall@1": sum(rank <= 1 for rank in ranks) / len(gold),
        "recall@5": sum(rank <= 5 for rank in ranks) / len(gold),
        "recall@20": len(ranks) / len(gold),
        "ndcg@10": min(1.0, sum(1 / math.log2(rank + 1) for rank in top) / ideal),
        "mrr@10": 1 / top[0] if top else 0.0,
        "coverage@5": _coverage(gold, found[:5]),
    }


def is_judged(passage: TextRange, gold: Sequence[TextRange], others: Sequence[TextRange]) -> bool:
    """Says whether a passage has half of a span that answers, or half of it is in judged spans."""
    if any((part := _common(span, passage)) and _is_half([part], span) for span in gold):
        return True
    parts = (_common(passage, span) for span in (*gold, *others))
    return _is_half([part for part in parts if part], passage)


def means(answers: Sequence[Scores]) -> dict[Measure, Interval]:
    """Returns each measure's mean over the answers, which are not none."""
    return {name: interval([each[name] for each in answers]) for name in MEASURES}


def compared(base: Sequence[Scores], candidate: Sequence[Scores]) -> dict[Measure, Comparison]:
    """Returns each measure's means over the same questions, answered in two ways."""
    pairs = list(zip(base, candidate, strict=True))
    return {
        name: Comparison(
            math.fsum(old[name] for old, _ in pairs) / len(pairs),
            math.fsum(new[name] for _, new in pairs) / len(pairs),
            interval([new[name] - old[name] for old, new in pairs]),
        )
        for name in MEASURES
    }


def interval(*groups: Sequence[float]) -> Interval:
    """Returns the mean over groups of their means, and what it would be with other questions.

    Questions are drawn within their group (percentile method; Efron, Tibshirani 1993), always the
    same samples. No group is empty.
    """
    # Samples are the same for the same values; nothing here is secret.
    draw = random.Random(SEED)  # noqa: S311
    drawn = sorted(
        _mean([_mean(draw.choices(values, k=len(values))) for values in groups])
        for _ in range(DRAWS)
    )
    return Interval(
        _mean([_mean(values) for values in groups]),
        _percentile(drawn, 0.025),
        _percentile(drawn, 0.975),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _percentile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _found_at(gold: TextRange, found: Sequence[TextRange]) -> int | None:
    parts: list[Range] = []
    for rank, span in enumerate(found, start=1):
        if part := _common(gold, span):
            parts.append(part)
            if _is_half(parts, gold):
                return rank
    return None


def _is_half(parts: Iterable[Range], span: TextRange) -> bool:
    return 2 * _length(parts) >= span.end - span.start


def _coverage(gold: Sequence[TextRange], found: Sequence[TextRange]) -> float:
    judged: dict[str, list[Range]] = {}
    covered: dict[str, list[Range]] = {}
    for span in gold:
        judged.setdefault(span.pointer, []).append((span.start, span.end))
        parts = (_common(span, other) for other in found)
        covered.setdefault(span.pointer, []).extend(part for part in parts if part)
    return sum(map(_length, covered.values())) / sum(map(_length, judged.values()))


def _common(one: TextRange, other: TextRange) -> Range | None:
    if one.pointer != other.pointer:
        return None
    start, end = max(one.start, other.start), min(one.end, other.end)
    return (start, end) if start < end else None


def _length(ranges: Iterable[Range]) -> int:
    """Characters in the union of ranges."""
    length, reached = 0, -1
    for start, end in sorted(ranges):
        if end > reached:
            length += end - max(start, reached)
            reached = end
    return length
