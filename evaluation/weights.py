"""What the default weight of a model costs on each set, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.report import DEFAULT, RELEVANT, Results, Values, short

ModelAndSet = tuple[str, str]
COLUMNS = (
    "keywords",
    "dense",
    "default @ weight",
    "best @ weight",
    "regret",
    "under leg",
    f"own ≥ {RELEVANT}",
    f"foreign ≥ {RELEVANT}",
    f"hits ≥ {RELEVANT}",
)


@dataclass(frozen=True)
class Row:
    """One set with one model, nDCG@10 0..1.

    ``regret``: how much better the best single weight of the set is than the default. ``under``:
    how much better the better one of the legs is.
    """

    results: Results

    @cached_property
    def keywords(self) -> float:
        return self._of("keyword")

    @cached_property
    def dense(self) -> float:
        return self._of("semantic")

    @cached_property
    def default(self) -> float:
        return self._of(DEFAULT)

    @cached_property
    def best(self) -> tuple[float, float]:
        """The nDCG@10 of the best weight, and the weight."""
        means = {weight: float(values.mean()) for weight, values in self.results.weights.items()}
        weight = max(means, key=means.__getitem__)
        return means[weight], weight

    @property
    def regret(self) -> float:
        return self.best[0] - self.default

    @property
    def under(self) -> float:
        return max(self.keywords, self.dense) - self.default

    def _of(self, way: str) -> float:
        return float(self.results.ways[way]["ndcg@10"].mean())


def table(measured: Mapping[ModelAndSet, Results]) -> Iterator[str]:
    """Yields a Markdown table: a row a model and set, and one of means and worst a model.

    Regret and what the default is under the better leg are points, a hundredth each.
    """
    yield f"\n| model | set | {' | '.join(COLUMNS)} |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    for model in dict.fromkeys(model for model, _ in measured):
        rows = {name: Row(each) for (of, name), each in measured.items() if of == model}
        for name, row in rows.items():
            yield f"| {model} | {name} | {' | '.join(_cells(row))} |"
        if len(rows) > 1:
            yield f"| **{model}** | mean (worst) | {' | '.join(_summary(list(rows.values())))} |"


def _cells(row: Row) -> list[str]:
    best, weight = row.best
    return [
        short(row.keywords),
        short(row.dense),
        f"{short(row.default)} @ {row.results.used:.2f}",
        f"{short(best)} @ {weight:.2f}",
        f"{100 * row.regret:.1f}",
        f"{100 * row.under:.1f}",
        *_shares([row]),
    ]


def _summary(rows: Sequence[Row]) -> list[str]:
    regrets, unders = [row.regret for row in rows], [row.under for row in rows]
    return [
        short(float(np.mean([row.keywords for row in rows]))),
        short(float(np.mean([row.dense for row in rows]))),
        short(float(np.mean([row.default for row in rows]))),
        short(float(np.mean([row.best[0] for row in rows]))),
        f"{100 * np.mean(regrets):.1f} ({100 * max(regrets):.1f})",
        f"({100 * max(unders):.1f})",
        *_shares(rows),
    ]


def _shares(rows: Sequence[Row]) -> list[str]:
    own, foreign, passed = (
        np.concatenate([getattr(row.results, kind) for row in rows])
        for kind in ("own", "foreign", "passed")
    )
    return [_percent(own), _percent(foreign), f"{passed.mean():.1f}"]


def _percent(best: Values) -> str:
    return f"{np.mean(best >= RELEVANT):.1%}" if len(best) else "–"
