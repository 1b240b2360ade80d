"""Orders the candidates of a search: fusion of the legs, then a relevance for each hit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from context_search.domain.config import SearchConfig
from context_search.domain.json_pointer import last_keys, relative
from context_search.domain.model import HydratedChunk
from context_search.domain.ranking.fusion import min_max, ranking
from context_search.domain.ranking.languages import is_foreign
from context_search.domain.ranking.recency import max_normalised, recency
from context_search.domain.ranking.relevance import (
    CALIBRATIONS,
    DEFAULT_CALIBRATION,
    relevance,
    worth,
)
from context_search.domain.ranking.reranking import Passage
from context_search.domain.text.analysis import Lookout
from context_search.services.searching.answer import Evidence, Found, Hit, Question, Target
from context_search.services.searching.fusing import Live, Scores, cosines, fused, linear

LOOKED_AT = 200
"""Linear scores need no text: only of so many hits, more than are shown, it is read."""


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
    scores = linear(target.search, live) if is_linear else {}
    order = _order(scores, live)
    worth_a_look = order[:LOOKED_AT] if is_linear else chunks
    look_for = Lookout(question.words)
    in_keys = _words_in_keys(look_for, {chunks[name].json_pointer for name in worth_a_look})
    passages = {name: _passage(chunks[name], look_for, in_keys) for name in worth_a_look}
    live = replace(live, passages=passages)
    evidence = _evidence(target.search, live)
    calibration = CALIBRATIONS.get(target.index.config.model, DEFAULT_CALIBRATION)
    worths = {name: worth(chunks[name].chunk_text) for name in live.passages}
    relevances = {
        name: worths.get(name, 1.0)
        * relevance(live.vector.get(name), live.words, live.vocabulary(name), calibration)
        for name in chunks
    }
    if not is_linear:
        foreign = {
            name: relevances[name]
            for name in live.vector
            if is_foreign(question.text, chunks[name].chunk_text)
        }
        scores = {
            name: worths[name] * score
            for name, score in fused(target.search, live, foreign).items()
        }
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
    return _order(linear(search, live), live)[:LOOKED_AT]


def relevance_of(model: str, words: Mapping[str, float], cosine: float | None, text: str) -> float:
    """Returns the relevance of a text whose vector has this similarity to the question's."""
    having = [word for _, word in Lookout(words)(text)]
    calibration = CALIBRATIONS.get(model, DEFAULT_CALIBRATION)
    return worth(text) * relevance(cosine, words, having, calibration)


def _live(question: Question, found: Found, chunks: Mapping[str, HydratedChunk]) -> Live:
    now = question.asked_at
    return Live(
        vector={name: score for name, score in found.vector.items() if name in chunks},
        keyword={name: score for name, score in found.keyword.items() if name in chunks},
        recency={name: recency(chunk.changed_at, now) for name, chunk in chunks.items()},
        words=question.words,
    )


def _order(scores: Scores, live: Live) -> list[str]:
    return sorted(scores, key=lambda name: (-scores[name], -live.recency[name], name))


def _words_in_keys(look_for: Lookout, pointers: Iterable[str]) -> dict[str, frozenset[str]]:
    """Returns which words of the question are in the last keys of each pointer."""
    return {
        pointer: frozenset([word for _, word in look_for("\n".join(last_keys(pointer)))])
        for pointer in pointers
    }


def _passage(
    chunk: HydratedChunk, look_for: Lookout, in_keys: Mapping[str, frozenset[str]]
) -> Passage:
    sightings = look_for(chunk.chunk_text)
    return Passage(
        sightings=sightings,
        vocabulary=frozenset([word for _, word in sightings]),
        length=len(chunk.chunk_text),
        place=(chunk.table_id, chunk.json_pointer),
        index=chunk.chunk_index,
        is_whole=chunk.total_chunks == 1,
        keys=in_keys[chunk.json_pointer],
    )


def _evidence(search: SearchConfig, live: Live) -> dict[str, Evidence]:
    is_linear = search.fusion == "linear"
    semantic = cosines(live.vector) if is_linear else min_max(live.vector)
    bm25 = max_normalised(live.keyword) if is_linear else min_max(live.keyword)
    ranks = [
        {name: rank for rank, name in enumerate(ranking(leg), start=1)}
        for leg in (live.vector, live.keyword)
    ]
    matched = {
        name: [word for word in live.words if word in passage.vocabulary]
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
