"""Every set under every way of searching, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from context_search.domain.config import SearchConfig
from evaluation.baseline import PlainBm25
from evaluation.judged import JudgedSet
from evaluation.metrics import MEASURES, Values, interval, measured, score
from evaluation.pipeline import Pipeline, Ranked

WAYS: Mapping[str, SearchConfig] = {
    "hybrid": SearchConfig(),
    "keyword": SearchConfig(strategy="keyword"),
    "semantic": SearchConfig(strategy="semantic"),
    "hybrid rrf": SearchConfig(fusion="rrf", vector_weight=0.5, bm25_weight=0.5),
    "hybrid linear": SearchConfig(fusion="linear", vector_weight=0.35, bm25_weight=0.55),
}
BASELINE = "bm25s"
RELEVANT = 0.7
_COLUMNS = ("ndcg@10", "recall@1", "recall@5", "recall@20", "mrr@10", "coverage@5")
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


def _best(hits: Sequence[Ranked]) -> float:
    return max((hit.relevance for hit in hits), default=0.0)


def lines(title: str, sets: Sequence[Results]) -> Iterator[str]:
    """Yields a table of the means over sets with their 95 % intervals; one row a way."""
    yield f"\n{title}"
    yield f"  {'':14}" + "".join(f"{name:>22}" for name in MEASURES)
    for way in (*WAYS, BASELINE):
        cells = (interval([results[way][name] for results in sets]) for name in MEASURES)
        row = "".join(f"{mean:8.3f} [{low:.3f}, {high:.3f}]" for mean, low, high in cells)
        yield f"  {way:14}{row}"
    yield f"  {'hybrid - best single leg, nDCG@10:':36} {_gain(sets):+.3f}"
    yield f"  a hit of relevance >= {RELEVANT}: {_share(sets, 'own')} questions, " + (
        f"{_share(sets, 'foreign')} of other sets"
    )


def _gain(sets: Sequence[Results]) -> float:
    mean = {
        way: float(np.mean([results[way]["ndcg@10"].mean() for results in sets]))
        for way in ("hybrid", "keyword", "semantic")
    }
    return mean["hybrid"] - max(mean["keyword"], mean["semantic"])


def _share(sets: Sequence[Results], kind: str) -> str:
    """How many questions have a hit that counts as relevant."""
    best = np.concatenate([results["relevance"][kind] for results in sets])
    return f"{np.mean(best >= RELEVANT):.1%} of {len(best)}" if len(best) else "none of 0"


def markdown(
    by_set: Mapping[str, Results], by_language: Mapping[str, Sequence[Results]]
) -> Iterator[str]:
    """Yields one Markdown table of everything, as in docs/quality.md."""
    yield f"\n| | | {' | '.join(_COLUMNS)} |"
    yield "|---" * (len(_COLUMNS) + 2) + "|"
    means = {f"mean {name}": sets for name, sets in by_language.items() if len(sets) > 1}
    for name, sets in ({each: [by_set[each]] for each in by_set} | means).items():
        for way in (*WAYS, BASELINE):
            cells = [interval([each[way][column] for each in sets]) for column in _COLUMNS]
            low, high = (_short(end) for end in cells[0][1:])
            means_of = " | ".join(_short(mean) for mean, _, _ in cells[1:])
            yield f"| {name} | {way} | {_short(cells[0][0])} [{low}, {high}] | {means_of} |"


def _short(share: float) -> str:
    return f"{share:.3f}".removeprefix("0")
