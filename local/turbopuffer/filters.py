"""Filters as a tree of small nodes; each gives the mask of the rows it matches.

Null rules (turbopuffer.com/docs/query#filtering): null sorts below everything, so ``Lt`` and
``Lte`` match documents without the attribute, ``Gt`` and ``Gte`` do not; every ``Not…``
operator is the exact complement of its positive one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from local.turbopuffer.column import ScalarColumn
from local.turbopuffer.document_index import DocumentIndex
from local.turbopuffer.growing import Mask


class Filter(Protocol):
    """A condition on documents."""

    def mask(self, index: DocumentIndex) -> Mask:
        """Which rows match, dead ones included."""
        ...


@dataclass(frozen=True, slots=True)
class AllOf:
    """And; true for every row when there are no parts."""

    parts: Sequence[Filter]

    def mask(self, index: DocumentIndex) -> Mask:
        """Rows that match every part."""
        found = np.ones(len(index.ids), np.bool_)
        for part in self.parts:
            found &= part.mask(index)
        return found


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Or; false for every row when there are no parts."""

    parts: Sequence[Filter]

    def mask(self, index: DocumentIndex) -> Mask:
        """Rows that match a part."""
        found = np.zeros(len(index.ids), np.bool_)
        for part in self.parts:
            found |= part.mask(index)
        return found


@dataclass(frozen=True, slots=True)
class Not:
    """The complement."""

    part: Filter

    def mask(self, index: DocumentIndex) -> Mask:
        """Rows that do not match the part."""
        return ~self.part.mask(index)


@dataclass(frozen=True, slots=True)
class IsNull:
    """The document has no value for the attribute."""

    name: str

    def mask(self, index: DocumentIndex) -> Mask:
        """Rows without a value."""
        return index.columns[self.name].is_null()


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value (or an element of the array) is one of ``values``."""

    name: str
    values: Sequence[Any]

    def mask(self, index: DocumentIndex) -> Mask:
        """Rows with one of the values."""
        return index.columns[self.name].any_of(self.values)


@dataclass(frozen=True, slots=True)
class Compared:
    """The value is present and compares so with ``value``."""

    name: str
    op: str
    value: Any

    def mask(self, index: DocumentIndex) -> Mask:
        """Rows whose value compares so."""
        return cast(ScalarColumn, index.columns[self.name]).compare(self.op, self.value)


@dataclass(frozen=True, slots=True)
class Matching:
    """The value (or an element) satisfies ``predicate``."""

    name: str
    predicate: Callable[[Any], bool]

    def mask(self, index: DocumentIndex) -> Mask:
        """Rows with a matching value."""
        return index.columns[self.name].where(self.predicate)


@dataclass(frozen=True, slots=True)
class HasTokens:
    """The text holds every one (or any one) of ``tokens``."""

    name: str
    tokens: Sequence[str]
    every: bool

    def mask(self, index: DocumentIndex) -> Mask:
        """Rows with the tokens."""
        return index.texts[self.name].contains(self.tokens, every=self.every)
