"""Several queries over one snapshot, and their fusion.

Reciprocal rank fusion: ``score(d) = Σ w / (k + rank)``, ranks from 1 (Cormack, Clarke and
Büttcher, SIGIR 2009); k is 60 and every weight 1 unless said otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from local.turbopuffer.errors import invalid, malformed, unsupported
from local.turbopuffer.namespace import State
from local.turbopuffer.queries import MAX_ROWS, CountQuery, check_page, compile_query, row_limit
from local.turbopuffer.request_bodies import MultiQueryBody, parse_body
from local.turbopuffer.schema import ID

MAX_QUERIES = 16
Row = dict[str, Any]


class _Rrf(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    rank_constant: int = 60
    weights: list[float] | None = None


def check_count(body: MultiQueryBody) -> None:
    """400 unless there are 1 to 16 queries."""
    if not 1 <= len(body.queries) <= MAX_QUERIES:
        raise invalid(f"a multi-query has 1 to {MAX_QUERIES} queries")


def answer_multi(body: MultiQueryBody, state: State, as_of: float | None) -> list[dict[str, Any]]:
    """One answer per query, or a single fused one when the request has ``rerank_by``."""
    queries = [compile_query(query, state.schema, body.vector_encoding) for query in body.queries]
    if body.rerank_by is None:
        if body.offset is not None:
            raise invalid("offset requires rerank_by and limit")
        return [query.answer(state, as_of) for query in queries]
    settings = _read_rrf(body.rerank_by, len(queries))
    if any(isinstance(query, CountQuery) for query in queries):
        raise invalid("an aggregation cannot be fused")
    first, last = _page(body)
    rankings = [query.answer(state, as_of)["rows"] for query in queries]
    return [{"rows": fuse(rankings, settings.weights, settings.rank_constant)[first:last]}]


def fuse(
    rankings: Sequence[Sequence[Row]], weights: Sequence[float] | None, constant: int
) -> list[Row]:
    """Rows of all rankings once each, best fused score first, equal ones by id."""
    scores: dict[Any, float] = defaultdict(float)
    merged: dict[Any, Row] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, row in enumerate(ranking, start=1):
            scores[row[ID]] += weight / (constant + rank)
            merged[row[ID]] = {**row, **merged.get(row[ID], {})}
    rounded = {identity: np.float32(score) for identity, score in scores.items()}
    best = sorted(rounded, key=lambda identity: (-rounded[identity], identity))
    return [{**merged[identity], "$dist": rounded[identity]} for identity in best]


def _read_rrf(raw: Any, queries: int) -> _Rrf:
    match raw:
        case ["RRF"]:
            return _Rrf()
        case ["RRF", dict() as options]:
            settings = parse_body(_Rrf, options)
        case dict():
            raise unsupported("reranking with a model")
        case _:
            raise malformed("data did not match any variant of untagged enum RerankBy")
    if settings.rank_constant < 1:
        raise invalid("rank_constant must be greater than zero")
    weights = settings.weights
    if weights is not None and (len(weights) != queries or min(weights) <= 0):
        raise invalid("weights takes one positive number per query")
    return settings


def _page(body: MultiQueryBody) -> tuple[int, int]:
    if body.limit is None and body.top_k is None:
        if body.offset is not None:
            raise invalid("offset requires rerank_by and limit")
        return 0, MAX_ROWS
    limit, offset = row_limit(body.limit, body.top_k), body.offset or 0
    check_page(offset, limit)
    return offset, offset + limit
