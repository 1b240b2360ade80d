"""Every set under every way of searching, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from context_search.core.config import SearchConfig
from context_search.ranking.measures import MEASURES, Measure, Scores, TextRange, interval, score
from evaluation.baseline import PlainBm25
from evaluation.candidates import JudgedQuestion
from evaluation.judged import JudgedSet
from evaluation.pipeline import Pipeline

WAYS: Mapping[str, SearchConfig] = {
    "hybrid": SearchConfig(),
    "keyword": SearchConfig(strategy="keyword"),
    "semantic": SearchConfig(strategy="semantic"),
    "hybrid rrf": SearchConfig(fusion="rrf", vector_weight=0.5, bm25_weight=0.5),
    "hybrid linear": SearchConfig(fusion="linear", vector_weight=0.35, bm25_weight=0.55),
}
DEFAULT = "hybrid"
BASELINE = "bm25s"
WEIGHTS = tuple(step / 20 for step in range(21))
"""The weights of the vectors that are tried, keywords having the rest."""
RELEVANT = 0.7
_COLUMNS: tuple[Measure, ...] = (
    "ndcg@10",
    "recall@1",
    "recall@5",
    "recall@20",
    "mrr@10",
    "coverage@5",
)
Values = NDArray[np.float64]
Measures = Mapping[Measure, Values]
"""One value a question, by measure."""


@dataclass(frozen=True, slots=True)
class Results:
    """One set with one model.

    ``weights``: nDCG@10 by the weight of the vectors; ``used`` is that of the default. ``own`` and
    ``foreign``: the relevance of the best hit of each question of the set, and of others;
    ``passed``: how many hits of a question of the set are relevant.
    """

    ways: Mapping[str, Measures]
    weights: Mapping[float, Values]
    used: float
    own: Values
    foreign: Values
    passed: Values


def evaluate(pipeline: Pipeline, judged: JudgedSet, others: Sequence[str]) -> Results:
    """Indexes a set and asks its questions; ``others`` are questions that nothing here answers."""
    table_id = pipeline.index(judged.name, judged.document)
    tool = pipeline.tool(table_id, WAYS[DEFAULT])
    plain = PlainBm25(pipeline.chunks(tool))
    ways: dict[str, list[Scores]] = {way: [] for way in (*WAYS, BASELINE)}
    weights: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
    relevances: list[list[float]] = []
    used = 0.0
    for question in judged.questions:
        asked = pipeline.ask(tool, question.text)
        for way, search in WAYS.items():
            ways[way].append(score(question.gold, _spans(asked, way, search)))
        ways[BASELINE].append(score(question.gold, plain.ask(question.text)))
        for weight in WEIGHTS:
            search = SearchConfig(vector_weight=weight, bm25_weight=1 - weight)
            found = asked.ranked(search) if asked else []
            weights[weight].append(score(question.gold, found)["ndcg@10"])
        relevances.append(asked.relevances if asked else [])
        used = asked.vector_weight if asked else used
    foreign = [asked.relevances if (asked := pipeline.ask(tool, text)) else [] for text in others]
    return Results(
        ways={way: _by_measure(rows) for way, rows in ways.items()},
        weights={weight: np.array(values) for weight, values in weights.items()},
        used=used,
        own=_best(relevances),
        foreign=_best(foreign),
        passed=np.array([float(sum(each >= RELEVANT for each in row)) for row in relevances]),
    )


def _by_measure(rows: Sequence[Scores]) -> Measures:
    return {name: np.array([row[name] for row in rows]) for name in MEASURES}


def _spans(asked: JudgedQuestion | None, way: str, search: SearchConfig) -> list[TextRange]:
    if asked is None:
        return []
    return asked.spans if way == DEFAULT else asked.ranked(search)


def _best(relevances: Sequence[Sequence[float]]) -> Values:
    return np.array([max(row, default=0.0) for row in relevances])


def lines(title: str, results: Results) -> Iterator[str]:
    """Yields a table of the means with their 95 % intervals; one row a way."""
    yield f"\n{title}"
    yield f"  {'':14}" + "".join(f"{name:>22}" for name in MEASURES)
    for way in (*WAYS, BASELINE):
        cells = (interval(results.ways[way][name].tolist()) for name in MEASURES)
        row = "".join(f"{each.mean:8.3f} [{each.low:.3f}, {each.high:.3f}]" for each in cells)
        yield f"  {way:14}{row}"


def markdown(by_set: Mapping[str, Results], languages: Mapping[str, str]) -> Iterator[str]:
    """Yields one Markdown table of every way, as in docs/quality.md: a set, then a language."""
    by_language: dict[str, list[Results]] = {}
    for name, results in by_set.items():
        by_language.setdefault(languages[name], []).append(results)
    yield f"\n| | | {' | '.join(_COLUMNS)} |"
    yield "|---" * (len(_COLUMNS) + 2) + "|"
    means = {f"mean {name}": sets for name, sets in by_language.items() if len(sets) > 1}
    for name, sets in ({each: [by_set[each]] for each in by_set} | means).items():
        for way in (*WAYS, BASELINE):
            first, *rest = (
                interval(*(each.ways[way][column].tolist() for each in sets)) for column in _COLUMNS
            )
            bounds = f"[{short(first.low)}, {short(first.high)}]"
            means_of = " | ".join(short(each.mean) for each in rest)
            yield f"| {name} | {way} | {short(first.mean)} {bounds} | {means_of} |"


def short(share: float) -> str:
    """Returns three digits as tables have them: ``.875``, ``1.000``."""
    return f"{share:.3f}".removeprefix("0")
