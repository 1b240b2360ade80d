"""Orders the candidates of a search: fusion of the legs, then a relevance for each hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.domain.analysis import tokens
from context_search.domain.fusion import (
    convex_combination,
    min_max,
    ranking,
    reciprocal_rank_fusion,
)
from context_search.domain.json_pointer import relative
from context_search.domain.model import HydratedChunk, Index, SearchTool
from context_search.domain.relevance import (
    CALIBRATIONS,
    DEFAULT_CALIBRATION,
    coverage,
    relevance,
)

# A keyword leg whose best hit covers less of the question than this is mostly noise (a question
# in another language): its weight falls in proportion and goes to the vector leg.
WEAK_COVERAGE = 0.3


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage. ``score`` orders its answer; ``relevance`` (0..1) means the same everywhere."""

    score: float
    relevance: float
    json_path: str
    chunk: HydratedChunk


@dataclass(frozen=True, slots=True)
class Candidates:
    """The scores of both legs by document id; a leg that did not run is empty."""

    vector: Mapping[str, float]
    keyword: Mapping[str, float]


def rank(
    tool: SearchTool,
    index: Index,
    words: Sequence[str],
    found: Candidates,
    chunks: Mapping[str, HydratedChunk],
) -> list[Hit]:
    """Returns the hits among the candidates that could be read, best first.

    Candidates without a live chunk take no part, so they cannot distort the normalisation.
    """
    vector = {name: score for name, score in found.vector.items() if name in chunks}
    keyword = {name: score for name, score in found.keyword.items() if name in chunks}
    text_tokens = {name: set(tokens(chunks[name].chunk_text)) for name in vector | keyword}
    scores = _fuse(tool, words, vector, keyword, text_tokens)
    calibration = CALIBRATIONS.get(index.config.model, DEFAULT_CALIBRATION)
    return [
        Hit(
            score=scores[name],
            relevance=relevance(vector.get(name), words, text_tokens[name], calibration),
            json_path=relative(tool.scope.json_pointer, chunks[name].json_pointer),
            chunk=chunks[name],
        )
        for name in ranking(scores)
    ]


def _fuse(
    tool: SearchTool,
    words: Sequence[str],
    vector: dict[str, float],
    keyword: dict[str, float],
    text_tokens: Mapping[str, set[str]],
) -> dict[str, float]:
    if not (vector and keyword):
        return min_max(vector or keyword)
    search = tool.search
    if search.fusion == "rrf":
        weights = [search.vector_weight, search.bm25_weight]
        return reciprocal_rank_fusion([vector, keyword], weights)
    best = ranking(keyword)[0]
    trust = min(1.0, coverage(words, text_tokens[best]) / WEAK_COVERAGE)
    bm25_weight = search.bm25_weight * trust
    vector_weight = search.vector_weight + search.bm25_weight - bm25_weight
    return convex_combination([vector, keyword], [vector_weight, bm25_weight])
