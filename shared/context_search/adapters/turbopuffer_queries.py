"""What a question asks turbopuffer: one query for each leg."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from context_search.ports.outside import VectorQuery


def subqueries(query: VectorQuery) -> Iterator[dict[str, object]]:
    """Yields the vector leg, then the keyword leg, as far as they are asked for."""
    inside: tuple[object, ...] = ("ancestors", "Contains", query.scope_key)
    if query.table_ids is not None:
        inside = ("And", [inside, ("table_id", "In", list(query.table_ids))])
    common = {
        "filters": inside,
        "limit": query.limit,
        "include_attributes": False,
    }
    if query.vector is not None:
        yield {"rank_by": ("vector", "ANN", query.vector), **common}
    if query.tokens is not None:
        yield {"rank_by": _by_words(query.tokens), **common}


def _by_words(tokens: Mapping[str, float]) -> tuple[object, ...]:
    """Returns the order by BM25 of tokens that count as much as their values say."""
    alike: dict[float, list[str]] = {}
    for token, weight in tokens.items():
        alike.setdefault(weight, []).append(token)
    parts = [
        leg if weight == 1.0 else ("Product", weight, leg)
        for weight, leg in ((weight, ("content", "BM25", names)) for weight, names in alike.items())
    ]
    return parts[0] if len(parts) == 1 else ("Sum", parts)
