"""The scores of the live candidates of a search: how their legs are fused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from context_search.domain.config import SearchConfig
from context_search.domain.ranking.fusion import (
    convex_combination,
    min_max,
    ranking,
    reciprocal_rank_fusion,
)
from context_search.domain.ranking.languages import across_languages
from context_search.domain.ranking.recency import linear_combination, max_normalised
from context_search.domain.ranking.relevance import coverage
from context_search.domain.ranking.reranking import Passage, rerank

# A keyword leg whose best hit covers less of the question than this is mostly noise (a question
# in another language): its weight falls in proportion and goes to the vector leg.
WEAK_COVERAGE = 0.4

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Live:
    """The candidates whose chunks are live, with what the ranking needs to know of each.

    Others take no part, so they cannot distort the normalisation.
    """

    vector: Scores
    keyword: Scores
    recency: Scores
    words: Mapping[str, float]
    passages: Mapping[str, Passage] = field(default_factory=dict)

    def vocabulary(self, name: str) -> frozenset[str]:
        """The question's words in a candidate; none where the text was not looked at."""
        passage = self.passages.get(name)
        return passage.vocabulary if passage else frozenset()


def fused(search: SearchConfig, live: Live, foreign: Scores) -> Scores:
    """Returns the scores after convex or rank fusion; ``foreign`` has relevances: see Languages."""
    if not live.keyword:
        return min_max(live.vector)
    if search.fusion == "rrf" and live.vector:
        weights = [search.vector_weight, search.bm25_weight]
        return reciprocal_rank_fusion([live.vector, live.keyword], weights)
    best_coverage = coverage(live.words, live.vocabulary(ranking(live.keyword)[0]))
    trust = min(1.0, best_coverage / WEAK_COVERAGE)
    keyword = min_max(live.keyword)
    mixed = _convex(search, live, trust) if live.vector else keyword
    trusted = {name: trust * score for name, score in keyword.items()}
    scores = rerank(mixed, trusted, live.words, live.passages)
    return across_languages(scores, foreign, live.vector, best_coverage) if foreign else scores


def linear(search: SearchConfig, live: Live) -> Scores:
    """Returns the scores of a linear ranking; needs no text."""
    return linear_combination(
        [max_normalised(live.keyword), cosines(live.vector), live.recency],
        [search.bm25_weight, search.vector_weight, search.recency_weight],
    )


def _convex(search: SearchConfig, live: Live, trust: float) -> Scores:
    bm25_weight = search.bm25_weight * trust
    vector_weight = search.vector_weight + search.bm25_weight - bm25_weight
    return convex_combination([live.vector, live.keyword], [vector_weight, bm25_weight])


def cosines(leg: Scores) -> dict[str, float]:
    """Returns the similarities, those below 0 as 0."""
    return {name: min(1.0, max(0.0, score)) for name, score in leg.items()}
