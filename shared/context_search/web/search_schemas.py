"""The schemas of what searches and retrieval answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from context_search.web.search_schema import SEARCH_OUTPUT_SCHEMA
from context_search.web.shapes import (
    COUNT,
    FREE,
    ID,
    NUMBER,
    SHARE,
    TEXT,
    TIME,
    TRUTH,
    Schema,
    many,
    maybe,
    obj,
    one_of,
)

_SEARCH = cast(Schema, SEARCH_OUTPUT_SCHEMA)
_PARTS: dict[str, Any] = _SEARCH["properties"]
_HOW = {"retrieval": _PARTS["retrieval"], "index": _PARTS["index"]}
_HIT: dict[str, Any] = _PARTS["results"]["items"]
_HINTED = {**_HIT, "properties": {**_HIT["properties"], "context_hint": TEXT}}
_BREAKDOWN = obj(bm25=NUMBER, semantic=NUMBER, recency=SHARE)
_SPAN = obj(start=COUNT, end=COUNT)
_NOTHING: Schema = {"type": "null"}
_LEG = {
    "description": "Both are null where the leg did not rank the candidate.",
    "anyOf": [obj(rank=ID, score=NUMBER), obj(rank=_NOTHING, score=_NOTHING)],
}
_CANDIDATE = obj(
    {
        "scoreBreakdown": _BREAKDOWN,
        "legs": obj(vector=_LEG, keyword=_LEG),
        "matched_terms": many(TEXT),
    },
    rank=ID,
    shown=TRUTH,
    chunk_id=ID,
    json_pointer=TEXT,
    chunk_index=COUNT,
    score=NUMBER,
    relevance=SHARE,
    stale=TRUTH,
)
_EXPLANATION = obj(
    query_tokens=many(TEXT),
    fusion=obj(kind=TEXT, weights={"type": "object", "additionalProperties": NUMBER}),
    keywords_from=maybe(TEXT),
    errors=many(TEXT),
    counts={"type": "object", "additionalProperties": COUNT},
    milliseconds={"type": "object", "additionalProperties": NUMBER},
    candidates=many(_CANDIDATE),
)
_FOUND = obj(
    {"stale": TRUTH},
    score=NUMBER,
    relevance=SHARE,
    scoreBreakdown=maybe(_BREAKDOWN),
    title=TEXT,
    type=TEXT,
    updatedAt=TIME,
    json_path=TEXT,
    snippet=TEXT,
    highlights=many(_SPAN),
    chunk=_HIT["properties"]["chunk"],
)
_PASSAGE_CHUNK = obj(
    id=ID, chunk_index=COUNT, char_start=COUNT, char_end=COUNT, score=NUMBER, relevance=SHARE
)
_REDACTION = obj(kind=TEXT, text_start=COUNT, text_end=COUNT, char_start=COUNT, char_end=COUNT)
_PASSAGE = obj(
    {"stale": TRUTH},
    score=NUMBER,
    relevance=SHARE,
    json_path=TEXT,
    table_id=ID,
    json_pointer=TEXT,
    content_hash=TEXT,
    char_start=COUNT,
    char_end=COUNT,
    text=TEXT,
    tokens=COUNT,
    chunks=many(_PASSAGE_CHUNK),
    redactions=many(_REDACTION),
)
_ACCOUNTING = obj(
    limit=ID,
    used=COUNT,
    tokenizer=TEXT,
    dropped=many(obj(id=ID, tokens=COUNT, reason=one_of("over_budget", "after_over_budget"))),
    below_min_score=COUNT,
)
SETTINGS_NUMBERS = {"topK": ID, "minScore": SHARE, "maxTokens": ID, "neighbours": COUNT}
_HINT = {"hint": _PARTS["hint"]}
_PAGE: Mapping[str, Schema] = {
    "query": TEXT,
    "results": many(_FOUND),
    "hasMore": TRUTH,
    "cursor": maybe(TEXT),
    "truncated": TRUTH,
    "counts": obj(ranked=COUNT, hidden=COUNT, gone=COUNT),
    **_HOW,
}
SEARCH_SCHEMAS: Mapping[str, Schema] = {
    "SearchAnswer": {
        **_SEARCH,
        "properties": {**_PARTS, "results": {**_PARTS["results"], "items": _HINTED}},
    },
    "ExplainedAnswer": {
        **_SEARCH,
        "properties": {**_PARTS, "explain": _EXPLANATION},
        "required": [*_SEARCH["required"], "explain"],
    },
    "ProjectSearchAnswer": obj({**_HINT, "explain": _EXPLANATION}, **_PAGE),
    "ExplainedProjectAnswer": obj(_HINT, **_PAGE, explain=_EXPLANATION),
    "RetrieveAnswer": obj(
        _HINT,
        query=TEXT,
        results=many(_PASSAGE),
        accounting=_ACCOUNTING,
        redaction=obj(enabled=TRUTH, counts=FREE),
        settings=obj(**SETTINGS_NUMBERS),
        **_HOW,
    ),
}
