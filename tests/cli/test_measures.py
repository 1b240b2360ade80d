"""Measures of judged questions are those of the evaluation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import get_args

import numpy as np
import pytest

from context_search_cli import measures as ours
from context_search_cli.evaluating import Measure
from evaluation import metrics as theirs
from evaluation.compare import Outcome


def test_every_measure_can_be_asked_for() -> None:
    assert set(get_args(Measure)) == set(ours.MEASURES)


def answers(seed: int, count: int = 40) -> list[tuple[list[ours.Span], list[ours.Span]]]:
    """Judged ranges and found passages of questions, touching, overlapping and far apart."""
    draw = random.Random(seed)

    def some(least: int, most: int) -> list[ours.Span]:
        starts = [draw.randrange(400) for _ in range(draw.randint(least, most))]
        lengths = [draw.randint(1, 120) for _ in starts]
        return [
            ours.Span(draw.choice(["/a", "/b"]), start, start + length)
            for start, length in zip(starts, lengths, strict=True)
        ]

    return [(some(1, 12), some(0, 25)) for _ in range(count)]


def as_theirs(spans: Sequence[ours.Span]) -> list[theirs.Span]:
    return [theirs.Span(each.pointer, each.start, each.end) for each in spans]


def test_the_measures_are_those_of_the_evaluation() -> None:
    assert (ours.MEASURES, ours.DEPTH) == (theirs.MEASURES, theirs.DEPTH)
    for gold, found in answers(1, 400):
        assert ours.score(gold, found) == theirs.score(as_theirs(gold), as_theirs(found))


@pytest.mark.parametrize("count", [1, 2, 50, 400])
def test_an_interval_is_that_of_the_evaluation_but_for_the_samples(count: int) -> None:
    values = [ours.score(gold, found)["ndcg@10"] for gold, found in answers(count, count)]
    mine = ours.interval(values)
    mean, low, high = theirs.interval([np.array(values)])
    width = high - low
    assert mine.mean == pytest.approx(mean)
    assert mine.low == pytest.approx(low, abs=0.1 * width + 1e-9)
    assert mine.high == pytest.approx(high, abs=0.1 * width + 1e-9)
    assert mine == ours.interval(values)


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [(-0.3, "worse"), (-0.1, "worse"), (0.0, "not worse"), (0.1, "better"), (0.3, "better")],
)
def test_the_verdict_is_that_of_the_evaluation(shift: float, verdict: str) -> None:
    draw = random.Random(6)
    base = [draw.random() for _ in range(100)]
    candidate = [each + shift + draw.uniform(-0.2, 0.2) for each in base]
    outcome = Outcome(
        {"ndcg@10": np.array(base)}, {"ndcg@10": np.array(candidate)}, measure="ndcg@10"
    )
    differences = [new - old for old, new in zip(base, candidate, strict=True)]
    assert ours.verdict(ours.interval(differences)) == outcome.verdict == verdict


@pytest.mark.parametrize("ends", [(-1.0, 0.0), (0.0, 0.0), (0.0, 1.0), (-1.0, 1.0)])
def test_an_interval_that_touches_zero_decides_nothing(ends: tuple[float, float]) -> None:
    assert ours.verdict(ours.Interval(0.0, *ends)) == theirs.verdict(*ends) == "not worse"
