"""Every set under every way of searching, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from context_search.domain.config import SearchConfig
from evaluation.baseline import PlainBm25
from evaluation.judged import JudgedSet
from evaluation.metrics import MEASURES, Values, interval, measured, score
from evaluation.pipeline import Pipeline

WAYS: Mapping[str, SearchConfig] = {
    "keyword": SearchConfig(strategy="keyword"),
    "semantic": SearchConfig(strategy="semantic"),
    "hybrid": SearchConfig(),
    "hybrid rrf": SearchConfig(fusion="rrf", vector_weight=0.5, bm25_weight=0.5),
    "hybrid linear": SearchConfig(fusion="linear", vector_weight=0.35, bm25_weight=0.55),
}
BASELINE = "bm25s"
RELEVANT = 0.7
Results = dict[str, dict[str, Values]]
"""Measures by way; one value a question."""


def evaluate(pipeline: Pipeline, judged: JudgedSet, others: Sequence[str]) -> Results:
    """Returns the measures of every way, and under ``relevance`` the best hit's of each question.

    ``others`` are questions of other sets: nothing here answers them.
    """
    table_id = pipeline.index(judged.name, judged.document)
    results: Results = {}
    for way, search in WAYS.items():
        tool = pipeline.tool(table_id, search)
        answers = [pipeline.ask(tool, question.text) for question in judged.questions]
        results[way] = measured(
            score(question.gold, [hit.span for hit in hits])
            for question, hits in zip(judged.questions, answers, strict=True)
        )
        if way == "hybrid":
            unrelated = [pipeline.ask(tool, question) for question in others]
            results["relevance"] = {
                "own": np.array([_best(hits) for hits in answers]),
                "foreign": np.array([_best(hits) for hits in unrelated]),
            }
    plain = PlainBm25(pipeline.chunks(tool))
    results[BASELINE] = measured(
        score(question.gold, plain.ask(question.text)) for question in judged.questions
    )
    return results


def _best(hits: Sequence[object]) -> float:
    return max((hit.relevance for hit in hits), default=0.0)  # type: ignore[attr-defined]


def table(title: str, sets: Sequence[Results]) -> Iterator[str]:
    """Yields a table of the means over sets with their 95 % intervals; one row a way."""
    yield f"\n{title}"
    yield f"  {'':14}" + "".join(f"{name:>22}" for name in MEASURES)
    for way in (*WAYS, BASELINE):
        cells = (interval([results[way][name] for results in sets]) for name in MEASURES)
        row = "".join(f"{mean:8.3f} [{low:.3f}, {high:.3f}]" for mean, low, high in cells)
        yield f"  {way:14}{row}"
    yield f"  {'hybrid - best single leg, nDCG@10:':36} {_gain(sets):+.3f}"


def _gain(sets: Sequence[Results]) -> float:
    mean = {
        way: float(np.mean([results[way]["ndcg@10"].mean() for results in sets]))
        for way in ("hybrid", "keyword", "semantic")
    }
    return mean["hybrid"] - max(mean["keyword"], mean["semantic"])


def relevance_line(sets: Sequence[Results]) -> str:
    """Returns how many questions have a hit that counts as relevant, their own and foreign ones."""
    own, foreign = (
        np.concatenate([results["relevance"][kind] for results in sets])
        for kind in ("own", "foreign")
    )
    return (
        f"  a hit of relevance >= {RELEVANT}: {np.mean(own >= RELEVANT):.1%} of {len(own)} "
        f"questions, {np.mean(foreign >= RELEVANT):.1%} of {len(foreign)} of other sets"
    )
