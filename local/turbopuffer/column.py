"""Attribute values in memory, one column per filterable attribute, answering with row masks.

A mask over 200,000 rows costs a fraction of a millisecond where the same filter in SQL costs
hundreds. Nulls never match here; what they do match is the filter's business.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.growing import Mask, Rows

Ranks = NDArray[np.int64]
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt,
    "Lte": operator.le,
    "Gt": operator.gt,
    "Gte": operator.ge,
}


class Column(Protocol):
    """Values of one attribute by row; operands are canonical values and never null."""

    def extend(self, values: Sequence[Any]) -> None:
        """Append one value (or None) per new row."""
        ...

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` (ascending) and renumber them from 0."""
        ...

    def is_null(self) -> Mask:
        """Rows without a value; an empty array is a value."""
        ...

    def any_of(self, values: Iterable[Any]) -> Mask:
        """Rows whose value (for arrays: an element) is one of ``values``."""
        ...

    def where(self, predicate: Callable[[Any], bool]) -> Mask:
        """Rows whose value (for arrays: an element) satisfies ``predicate``."""
        ...


class ScalarColumn(Column, Protocol):
    """A column with an order."""

    def compare(self, op: str, value: Any) -> Mask:
        """Rows whose value is ``Lt``, ``Lte``, ``Gt`` or ``Gte`` the given one."""
        ...

    def ranks(self) -> Ranks:
        """Per row a number that sorts like the value; -1 for null."""
        ...
