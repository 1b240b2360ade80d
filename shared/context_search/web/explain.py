"""How a ranking came about, for people who ask why."""

from __future__ import annotations

from collections.abc import Mapping

from context_search.domain.search import Answer, Evidence, Hit
from context_search.web.answers import search_answer

LISTED_CANDIDATES = 200


def breakdown(evidence: Evidence) -> dict[str, float]:
    """Returns ``scoreBreakdown``: each part in 0..1, as the fusion weighed it."""
    return {
        "bm25": round(evidence.bm25, 4),
        "semantic": round(evidence.semantic, 4),
        "recency": round(evidence.recency, 4),
    }


def explained(answer: Answer, words: list[str], shown: int) -> dict[str, object]:
    """Returns a search's answer with its first ``shown`` hits, and an ``explain`` beside it.

    ``words`` is the question as the keyword leg saw it. At most 200 candidates are listed.
    """
    body = search_answer(answer, answer.hits[:shown])
    body["explain"] = explanation(answer, words, shown)
    return body


def explanation(answer: Answer, words: list[str], shown: int) -> dict[str, object]:
    """Returns the ``explain`` of an answer of which ``shown`` hits are shown."""
    search = answer.target.search
    weights = {"keyword": search.bm25_weight, "vector": search.vector_weight}
    if search.fusion == "linear":
        weights["recency"] = search.recency_weight
    return {
        "query_tokens": words,
        "fusion": {"kind": search.fusion, "weights": weights},
        "keywords_from": answer.found.keywords_from,
        "errors": list(answer.found.errors),
        "counts": {
            "vector": len(answer.found.vector),
            "keyword": len(answer.found.keyword),
            "candidates": len(answer.found.ids),
            "gone": answer.gone,
            "ranked": answer.ranked,
            "shown": min(shown, answer.ranked),
        },
        "milliseconds": _milliseconds(answer.seconds),
        "candidates": [
            _candidate(place, hit, shown)
            for place, hit in enumerate(answer.hits[:LISTED_CANDIDATES], start=1)
        ],
    }


def _milliseconds(seconds: Mapping[str, float]) -> dict[str, float]:
    return {stage: round(spent * 1000, 2) for stage, spent in seconds.items()}


def _candidate(place: int, hit: Hit, shown: int) -> dict[str, object]:
    listed: dict[str, object] = {
        "rank": place,
        "shown": place <= shown,
        "chunk_id": hit.chunk.id,
        "json_pointer": hit.chunk.json_pointer,
        "chunk_index": hit.chunk.chunk_index,
        "score": round(hit.score, 6),
        "relevance": round(hit.relevance, 4),
        "stale": hit.chunk.stale,
    }
    if hit.evidence is not None:
        evidence = hit.evidence
        listed["scoreBreakdown"] = breakdown(evidence)
        listed["legs"] = {
            "vector": {"rank": evidence.vector_rank, "score": evidence.raw_semantic},
            "keyword": {"rank": evidence.keyword_rank, "score": evidence.raw_bm25},
        }
        listed["matched_terms"] = list(evidence.matched)
    return listed
