"""Orders the candidates of a search: fusion of the legs, then a relevance for each hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from context_search.domain.analysis import Lookout
from context_search.domain.config import SearchConfig
from context_search.domain.fusion import (
    convex_combination,
    min_max,
    ranking,
    reciprocal_rank_fusion,
)
from context_search.domain.json_pointer import relative
from context_search.domain.languages import across_languages, is_foreign
from context_search.domain.model import HydratedChunk
from context_search.domain.recency import linear_combination, max_normalised, recency
from context_search.domain.relevance import (
    CALIBRATIONS,
    DEFAULT_CALIBRATION,
    coverage,
    relevance,
)
from context_search.domain.reranking import Passage, rerank
from context_search.services.searching.answer import Evidence, Found, Hit, Question, Target

# A keyword leg whose best hit covers less of the question than this is mostly noise (a question
# in another language): its weight falls in proportion and goes to the vector leg.
WEAK_COVERAGE = 0.4

LOOKED_AT = 200
"""Linear scores need no text: only of so many hits, more than are shown, it is read."""

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Live:
    """The candidates whose chunks are live, with what the ranking needs to know of each.

    Others take no part, so they cannot distort the normalisation.
    """

    vector: Scores
    keyword: Scores
    recency: Scores
    words: Sequence[str]
    passages: Mapping[str, Passage] = field(default_factory=dict)

    def vocabulary(self, name: str) -> frozenset[str]:
        """The question's words in a candidate; none where the text was not looked at."""
        passage = self.passages.get(name)
        return passage.vocabulary if passage else frozenset()


def rank(
    target: Target,
    question: Question,
    found: Found,
    chunks: Mapping[str, HydratedChunk],
) -> list[Hit]:
    """Returns the hits among the candidates that could be read, best first; ties: newer first.

    Behind LOOKED_AT hits of a linear ranking, relevance is that of the vector alone.
    """
    live = _live(question, found, chunks)
    is_linear = target.search.fusion == "linear"
    scores = _linear(target.search, live) if is_linear else {}
    order = _order(scores, live)
    worth_a_look = order[:LOOKED_AT] if is_linear else chunks
    look_for = Lookout(question.words)
    live = replace(live, passages={name: _passage(chunks[name], look_for) for name in worth_a_look})
    evidence = _evidence(target.search, live)
    calibration = CALIBRATIONS.get(target.index.config.model, DEFAULT_CALIBRATION)
    relevances = {
        name: relevance(live.vector.get(name), live.words, live.vocabulary(name), calibration)
        for name in chunks
    }
    if not is_linear:
        foreign = {
            name: relevances[name]
            for name in live.vector
            if is_foreign(question.text, chunks[name].chunk_text)
        }
        scores = _fuse(target.search, live, foreign)
        order = _order(scores, live)
    return [
        Hit(
            score=scores[name],
            relevance=relevances[name],
            json_path=relative(target.reach.json_pointer, chunks[name].json_pointer),
            chunk=chunks[name],
            evidence=evidence[name],
        )
        for name in order
    ]


def looked_at(
    search: SearchConfig,
    question: Question,
    found: Found,
    chunks: Mapping[str, HydratedChunk],
) -> list[str]:
    """Returns the candidates whose texts a linear ranking looks at; needs no text itself."""
    live = _live(question, found, chunks)
    return _order(_linear(search, live), live)[:LOOKED_AT]


def relevance_of(model: str, words: Sequence[str], cosine: float | None, text: str) -> float:
    """Returns the relevance of a text whose vector has this similarity to the question's."""
    having = [word for _, word in Lookout(words)(text)]
    return relevance(cosine, words, having, CALIBRATIONS.get(model, DEFAULT_CALIBRATION))


def _live(question: Question, found: Found, chunks: Mapping[str, HydratedChunk]) -> _Live:
    now = question.asked_at
    return _Live(
        vector={name: score for name, score in found.vector.items() if name in chunks},
        keyword={name: score for name, score in found.keyword.items() if name in chunks},
        recency={name: recency(chunk.changed_at, now) for name, chunk in chunks.items()},
        words=question.words,
    )


def _order(scores: Scores, live: _Live) -> list[str]:
    return sorted(scores, key=lambda name: (-scores[name], -live.recency[name], name))


def _passage(chunk: HydratedChunk, look_for: Lookout) -> Passage:
    sightings = look_for(chunk.chunk_text)
    return Passage(
        sightings=sightings,
        vocabulary=frozenset([word for _, word in sightings]),
        length=len(chunk.chunk_text),
        place=(chunk.table_id, chunk.json_pointer),
        index=chunk.chunk_index,
        is_whole=chunk.total_chunks == 1,
    )


def _fuse(search: SearchConfig, live: _Live, foreign: Scores) -> Scores:
    if not live.keyword:
        return min_max(live.vector)
    if search.fusion == "rrf" and live.vector:
        weights = [search.vector_weight, search.bm25_weight]
        return reciprocal_rank_fusion([live.vector, live.keyword], weights)
    best_coverage = coverage(live.words, live.vocabulary(ranking(live.keyword)[0]))
    trust = min(1.0, best_coverage / WEAK_COVERAGE)
    keyword = min_max(live.keyword)
    fused = _convex(search, live, trust) if live.vector else keyword
    trusted = {name: trust * score for name, score in keyword.items()}
    scores = rerank(fused, trusted, live.words, live.passages)
    return across_languages(scores, foreign, live.vector, best_coverage) if foreign else scores


def _linear(search: SearchConfig, live: _Live) -> Scores:
    return linear_combination(
        [max_normalised(live.keyword), _cosines(live.vector), live.recency],
        [search.bm25_weight, search.vector_weight, search.recency_weight],
    )


def _convex(search: SearchConfig, live: _Live, trust: float) -> Scores:
    bm25_weight = search.bm25_weight * trust
    vector_weight = search.vector_weight + search.bm25_weight - bm25_weight
    return convex_combination([live.vector, live.keyword], [vector_weight, bm25_weight])


def _cosines(leg: Scores) -> dict[str, float]:
    return {name: min(1.0, max(0.0, score)) for name, score in leg.items()}


def _evidence(search: SearchConfig, live: _Live) -> dict[str, Evidence]:
    is_linear = search.fusion == "linear"
    semantic = _cosines(live.vector) if is_linear else min_max(live.vector)
    bm25 = max_normalised(live.keyword) if is_linear else min_max(live.keyword)
    ranks = [
        {name: rank for rank, name in enumerate(ranking(leg), start=1)}
        for leg in (live.vector, live.keyword)
    ]
    matched = {
        name: [word for word in dict.fromkeys(live.words) if word in passage.vocabulary]
        for name, passage in live.passages.items()
    }
    return {
        name: Evidence(
            vector_rank=ranks[0].get(name),
            keyword_rank=ranks[1].get(name),
            raw_semantic=live.vector.get(name),
            raw_bm25=live.keyword.get(name),
            semantic=semantic.get(name, 0.0),
            bm25=bm25.get(name, 0.0),
            recency=live.recency[name],
            matched=matched.get(name, ()),
        )
        for name in live.recency
    }
