"""The shapes of what retrieval answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from context_search.domain.retrieval import RetrievalSettings, StoredSettings
from context_search.services.searching.retrieve import Retrieval, Retrieved
from context_search.web.answers import retrieval as how_it_was_found


def retrieval_answer(retrieval: Retrieval) -> dict[str, object]:
    """Returns the body of a retrieval: passages for a prompt, and the account of its budget."""
    settings = retrieval.settings
    hidden = Counter(mark.kind for passage in retrieval.passages for mark in passage.replacements)
    body: dict[str, object] = {
        "query": retrieval.answer.query,
        "results": [_passage(passage) for passage in retrieval.passages],
        "accounting": {
            "limit": settings.max_tokens,
            "used": retrieval.used_tokens,
            "tokenizer": retrieval.tokenizer,
            "dropped": [asdict(dropped) for dropped in retrieval.dropped],
            "below_min_score": retrieval.below_min_score,
        },
        "redaction": {
            "enabled": settings.redaction,
            "counts": {kind: hidden[kind] for kind in settings.hidden_kinds},
        },
        "settings": _numbers(settings),
        "retrieval": how_it_was_found(retrieval.answer),
        "index": {"status": retrieval.answer.target.status},
    }
    if retrieval.hint is not None:
        body["hint"] = retrieval.hint
    return body


def _passage(passage: Retrieved) -> dict[str, object]:
    best = passage.hits[0]
    shown: dict[str, object] = {
        "score": round(best.score, 6),
        "relevance": round(best.relevance, 4),
        "json_path": best.json_path,
        "table_id": best.chunk.table_id,
        "json_pointer": best.chunk.json_pointer,
        "content_hash": best.chunk.content_hash,
        "char_start": passage.char_start,
        "char_end": passage.char_end,
        "text": passage.text,
        "tokens": passage.tokens,
        "chunks": [
            {
                "id": hit.chunk.id,
                "chunk_index": hit.chunk.chunk_index,
                "char_start": hit.chunk.char_start,
                "char_end": hit.chunk.char_end,
                "score": round(hit.score, 6),
                "relevance": round(hit.relevance, 4),
            }
            for hit in passage.hits
        ],
        "redactions": [asdict(mark) for mark in passage.replacements],
    }
    if any(hit.chunk.stale for hit in passage.hits):
        shown["stale"] = True
    return shown


def settings_answer(project_id: int, stored: StoredSettings) -> dict[str, object]:
    """Returns the settings of a project; version 0 are the defaults."""
    settings = stored.settings
    return {
        "project_id": project_id,
        "version": stored.version,
        **_numbers(settings),
        "redaction": {"enabled": settings.redaction, "kinds": list(settings.kinds)},
    }


def _numbers(settings: RetrievalSettings) -> dict[str, object]:
    return {
        "topK": settings.top_k,
        "minScore": settings.min_score,
        "maxTokens": settings.max_tokens,
        "neighbours": settings.neighbours,
    }
