"""Queries: what ``filters`` and ``rank_by`` say, and the best rows for it.

Distances are better when lower, BM25 scores when higher; equal ones are ordered by id. 422 for a
shape that no version of the service could read, 400 for what makes no sense with this schema or
is not supported here (turbopuffer.com/docs/query).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from local.turbopuffer.bodies import QueryBody
from local.turbopuffer.columns import Mask, Rows
from local.turbopuffer.documents import read_vectors
from local.turbopuffer.errors import ApiError, invalid, malformed, unsupported
from local.turbopuffer.namespace import State
from local.turbopuffer.schema import ID, VECTOR, Attribute, check_id
from local.turbopuffer.text_index import Scores

_MAX_QUERY_BYTES = 8_192  # the service says 8,192 and names no unit: the least that it can mean

Best = tuple[list[int], NDArray[np.float32] | None]
"""Rows, and the distance or score of each (None when ordered by id)."""


class Query:
    """One query over the state of a namespace."""

    def __init__(self, body: QueryBody, state: State) -> None:
        self._body = body
        self._schema, self._index, self._store = state.schema, state.index, state.store
        self._room = _MAX_QUERY_BYTES  # for tokens of the whole query

    def rows(self) -> list[dict[str, Any]]:
        """The first ``limit`` rows, or 400/422 for what is wrong with the query.

        Each has ``$dist``, ``id`` and what is to be included; no null attributes.
        """
        names = self._included()
        rows, scores = self._best()
        ids = list(map(self._index.ids.__getitem__, rows))
        shown: list[dict[str, Any]]
        if scores is None:
            shown = [{ID: identity} for identity in ids]
        else:
            shown = [{"$dist": score, ID: one} for one, score in zip(ids, scores, strict=True)]
        if VECTOR in names:
            for row, hit in zip(rows, shown, strict=True):
                hit[VECTOR] = self._index.vectors.vector(row)
        if names - {VECTOR}:
            stored = self._store.attributes(ids)
            for hit in shown:
                attributes = stored.get(hit[ID], {})
                hit.update((name, each) for name, each in attributes.items() if name in names)
        return shown

    def _included(self) -> set[str]:
        included = self._body.include_attributes
        if isinstance(included, bool):
            return set(self._schema.attributes) if included else set()
        for name in included:
            self._schema.attribute(name, "include_attributes")
        return set(included)

    def _best(self) -> Best:
        """The best rows that match."""
        index, count = self._index, self._body.limit
        matching = index.alive()
        if self._body.filters is not None:
            matching = matching & self._mask(self._body.filters)
        match self._body.rank_by:
            case ["id", "asc"]:
                return index.in_order(matching, count), None
            case ["vector", "ANN", operand]:
                [vector] = read_vectors([operand], self._schema.dimensions)
                rows = np.flatnonzero(matching)
                return self._lowest(rows, index.vectors.distances(vector, rows), count)
            case rank_by:
                scores = self._scores(rank_by)
                rows = np.flatnonzero(matching & (scores > 0))
                best, negated = self._lowest(rows, -scores[rows].astype(np.float32), count)
                return best, -negated

    def _mask(self, raw: Any) -> Mask:
        """Which rows match a filter, dead ones included."""
        match raw:
            case ["And", [*parts]]:
                found = np.ones(len(self._index.ids), np.bool_)
                for part in parts:
                    found &= self._mask(part)
                return found
            case ["id", "In", [*ids]]:
                return self._index.with_ids(map(check_id, ids))
            case ["id", "Gt", after]:
                return self._index.behind(check_id(after))
            case [str() as name, "Contains" | "ContainsAny" | "In" as operator, operand]:
                return self._with(name, operator, operand)
        raise _refused("filters", raw)

    def _with(self, name: str, operator: str, operand: Any) -> Mask:
        """Rows by the values of an attribute; ``In`` of an array means its elements."""
        attribute = self._schema.attribute(name, "filters")
        if attribute.type == "int" and operator == "In" and isinstance(operand, list):
            _check_filterable(name, attribute)
            numbers = [attribute.canonical(name, value) for value in operand]
            return self._index.numbers[name].any_of(numbers)
        if attribute.type != "[]string":
            raise unsupported(f"filter {operator} on attribute {name!r} of type {attribute.type}")
        _check_filterable(name, attribute)
        if operator == "Contains" and not isinstance(operand, str):
            raise _mismatch(name, operator, "string", operand)
        # A single value is a list of one, but for ContainsAny.
        is_one = isinstance(operand, str) and operator != "ContainsAny"
        elements = [operand] if is_one else operand
        if not _is_texts(elements):
            raise _mismatch(name, operator, "[]string", operand)
        return self._index.where(self._index.arrays[name].lookup_any(elements))

    def _scores(self, raw: Any) -> Scores:
        """The BM25 score of every row; 0 for no match."""
        match raw:
            case ["Sum", [first, *others]]:
                total = self._scores(first)
                for part in others:
                    total += self._scores(part)
                return total
            case ["Product", float() | int() as weight, [*_] as part]:
                if not weight >= 0:
                    raise invalid("the weight of a Product must not be negative")
                return float(weight) * self._scores(part)
            case [str() as name, "BM25", tokens]:
                if not self._schema.attribute(name, "rank_by").is_full_text:
                    raise invalid(f"attribute {name!r} has no full-text index")
                asked = self._tokens(name, tokens)
                return self._index.texts[name].scores(asked, self._index.alive())
        raise _refused("rank_by", raw)

    def _tokens(self, name: str, operand: Any) -> list[str]:
        if not _is_texts(operand):
            given = _in_words(operand)
            raise invalid(
                f"invalid input '{given}' for rank_by field \"{name}\", expecting []string"
            )
        tokens: list[str] = operand
        self._room -= sum(len(token.encode()) for token in tokens)
        if self._room < 0:
            raise invalid(f"a full-text query has at most {_MAX_QUERY_BYTES} bytes")
        return tokens

    def _lowest(
        self, rows: Rows, values: NDArray[np.float32], count: int
    ) -> tuple[list[int], NDArray[np.float32]]:
        """The rows with the lowest values, and these; equal ones by id."""
        if len(rows) > count:
            near = values <= np.partition(values, count - 1)[count - 1]
            rows, values = rows[near], values[near]
        order = np.argsort(values)
        values, best = values[order], rows[order].tolist()
        bounds = np.flatnonzero(np.diff(values, prepend=np.nan, append=np.nan))
        tied = np.flatnonzero(np.diff(bounds) > 1)
        for first, end in zip(bounds[tied].tolist(), bounds[tied + 1].tolist(), strict=True):
            best[first:end] = sorted(best[first:end], key=self._index.ids.__getitem__)
        return best[:count], values[:count]


def _check_filterable(name: str, attribute: Attribute) -> None:
    if not attribute.is_filterable or attribute.is_full_text:
        raise invalid(f"attribute {name!r} isn't filterable")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _in_words(value: Any) -> str:
    """An operand as the service quotes it."""
    if isinstance(value, list):
        return f"[{', '.join(map(_in_words, value))}]"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _mismatch(name: str, operator: str, kind: str, operand: Any) -> ApiError:
    """400, in the service's words."""
    return invalid(
        f"filter error in key `{name}`: type mismatch, {operator} expects {kind}, "
        f"but got '{_in_words(operand)}'"
    )


def _refused(role: str, raw: Any) -> ApiError:
    """400 for an operator that only the service has, named; 422 for what is none."""
    match raw:
        case [str() as name, str() as operator, *_]:
            return unsupported(f"{role}: {operator} on {name!r}")
        case [str() as operator, *_]:
            return unsupported(f"{role}: {operator}")
    return malformed(f"data did not match any variant of untagged enum ({role})")
