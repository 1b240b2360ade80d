"""A search call's arguments, checked without coercion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from context_search.domain.errors import InvalidInputError
from context_search.web.search_schema import MAX_QUERY_CHARS, MAX_TOP_K


class SearchArguments(NamedTuple):
    """A search call's checked arguments; ``top_k`` None takes the tool's own number."""

    query: str
    top_k: int | None


def parse_search_arguments(arguments: Mapping[str, object]) -> SearchArguments:
    """Check a search call's arguments against ``SEARCH_INPUT_SCHEMA``, without coercion.

    Raises InvalidInputError for unknown names, ``"5"``, ``true`` or ``5.0`` as top_k, lengths and
    numbers out of range, and what no JSON body over HTTP may hold either (NUL, lone surrogates).
    """
    unknown = sorted(set(arguments) - {"query", "top_k"})
    if unknown:
        raise InvalidInputError(f"unknown argument: {unknown[0][:64]!r}; there are query and top_k")
    return SearchArguments(
        _parse_query(arguments.get("query")),
        _parse_top_k(arguments["top_k"]) if "top_k" in arguments else None,
    )


def _parse_query(query: object) -> str:
    if not isinstance(query, str) or not 1 <= len(query) <= MAX_QUERY_CHARS:
        raise InvalidInputError(f"query must be a string of 1 to {MAX_QUERY_CHARS} characters")
    if any("\ud800" <= char <= "\udfff" for char in query):
        raise InvalidInputError("query holds half a surrogate pair")
    if "\x00" in query:
        raise InvalidInputError("query holds U+0000")
    return query


def _parse_top_k(top_k: object) -> int:
    if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= MAX_TOP_K:
        raise InvalidInputError(f"top_k must be an integer from 1 to {MAX_TOP_K}")
    return top_k
