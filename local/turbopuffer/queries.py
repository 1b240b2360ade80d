"""One query against a namespace: checked against its schema, then answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from local.turbopuffer.document_index import DocumentIndex
from local.turbopuffer.errors import invalid, malformed
from local.turbopuffer.filter_parsing import parse_filter
from local.turbopuffer.filters import AllOf, Filter
from local.turbopuffer.namespace import State
from local.turbopuffer.projection import Projection
from local.turbopuffer.rank_parsing import parse_rank_by
from local.turbopuffer.ranking import ByAttributes, Hit, Ranking
from local.turbopuffer.request_bodies import SubQuery
from local.turbopuffer.schema import ID, Schema

MAX_ROWS = 10_000
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RankedQuery:
    """A ranked list: rows ``offset`` to ``offset + limit``."""

    condition: Filter
    ranking: Ranking
    limit: int
    offset: int
    projection: Projection

    def hits(self, index: DocumentIndex, as_of: float | None) -> list[Hit]:
        """The rows of the page."""
        visible = index.visible(as_of)
        matching = visible & self.condition.mask(index)
        found = self.ranking.best(index, visible, matching, self.offset + self.limit)
        return found[self.offset :]

    def answer(self, state: State, as_of: float | None) -> dict[str, Any]:
        """``{"rows": […]}``."""
        return {"rows": self.projection.rows(self.hits(state.index, as_of), state)}


@dataclass(frozen=True, slots=True)
class CountQuery:
    """How many documents match, under each of the labels."""

    condition: Filter
    labels: Sequence[str]

    def answer(self, state: State, as_of: float | None) -> dict[str, Any]:
        """``{"aggregations": {label: count}}``."""
        matching = state.index.visible(as_of) & self.condition.mask(state.index)
        count = int(np.count_nonzero(matching))
        return {"aggregations": dict.fromkeys(self.labels, count)}


def compile_query(body: SubQuery, schema: Schema, encoding: str) -> RankedQuery | CountQuery:
    """The query, or 400/422 for what is wrong with it. ``encoding`` is for vectors returned."""
    if body.aggregate_by is not None:
        return _count_query(body, schema)
    condition = _condition(body, schema)
    limit = row_limit(body.limit, body.top_k)
    offset = body.offset or 0
    check_page(offset, limit)
    if body.rank_by is None:
        # A look-up: turbopuffer orders it by id and knows no pages of it.
        if body.filters is None or body.offset is not None:
            raise invalid("a query without filters or with an offset needs rank_by")
        ranking: Ranking = ByAttributes([(ID, False)])
    else:
        ranking = parse_rank_by(body.rank_by, schema, filtered=body.filters is not None)
    projection = Projection.of(body.include_attributes, body.exclude_attributes, schema, encoding)
    return RankedQuery(condition, ranking, limit, offset, projection)


def query_cost(body: SubQuery) -> int:
    """How many of a namespace's query slots it takes (turbopuffer.com/docs/limits)."""
    if body.aggregate_by is not None:
        return 4
    match body.rank_by:
        case [str(), "kNN", *_]:
            return 2
    return 1


def row_limit(limit: Any, top_k: Any) -> int:
    """``limit`` or its older name ``top_k``: 1 to 10,000."""
    if limit is not None and top_k is not None:
        raise invalid("limit and top_k exclude each other")
    asked = _limit_total(limit) if top_k is None else top_k
    if asked is None:
        raise invalid("rank_by queries must specify top_k or limit")
    if type(asked) is not int or asked < 0:
        raise malformed("top_k and limit are unsigned integers")
    if not 1 <= asked <= MAX_ROWS:
        raise invalid(f"top_k must be between 1 and {MAX_ROWS}")
    return asked


def check_page(offset: int, limit: int) -> None:
    """422 for a negative offset, 400 for a page that ends behind row 10,000."""
    if offset < 0:
        raise malformed("offset is an unsigned integer")
    if offset + limit > MAX_ROWS:
        raise invalid(f"offset + limit must not exceed {MAX_ROWS}")


def _limit_total(limit: Any) -> Any:
    if not isinstance(limit, dict):
        return limit
    if limit.get("per") is not None:
        raise invalid("limit.per is not supported by the local server")
    if "total" not in limit:
        raise malformed("missing field `total`")
    return limit["total"]


def _condition(body: SubQuery, schema: Schema) -> Filter:
    return AllOf([]) if body.filters is None else parse_filter(body.filters, schema)


def _count_query(body: SubQuery, schema: Schema) -> CountQuery:
    functions = body.aggregate_by or {}
    if body.rank_by is not None or body.limit is not None:
        raise malformed("an aggregation takes neither rank_by nor limit")
    others = (body.top_k, body.offset, body.include_attributes, body.exclude_attributes)
    if not functions or any(other is not None for other in others):
        raise invalid("an aggregation takes one function or more, filters and nothing else")
    for function in functions.values():
        match function:
            case ["Count"] | ["Count", "id"]:
                continue
            case ["Sum", str()] | ["Count", str()]:
                raise invalid(f"aggregation {function} is not supported by the local server")
        raise malformed("data did not match any variant of untagged enum AggregateBy")
    return CountQuery(_condition(body, schema), list(functions))
