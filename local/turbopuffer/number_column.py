"""int, uint, float and bool attributes: a numpy array, and which rows have a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from local.turbopuffer.attribute_types import Kind
from local.turbopuffer.column import COMPARE, Ranks
from local.turbopuffer.growing import GrowingArray, Mask, Rows

_DTYPES: dict[Kind, type[Any]] = {
    Kind.INT: np.int64,
    Kind.UINT: np.uint64,
    Kind.FLOAT: np.float64,
    Kind.BOOL: np.bool_,
}


class NumberColumn:
    """A ``ScalarColumn`` (see there)."""

    def __init__(self, kind: Kind) -> None:
        self._dtype = _DTYPES[kind]
        self._values: GrowingArray[Any] = GrowingArray(self._dtype)
        self._present = GrowingArray(np.bool_)

    @staticmethod
    def takes(kind: Kind) -> bool:
        """True for the kinds that this column keeps."""
        return kind in _DTYPES

    def extend(self, values: Sequence[Any]) -> None:
        """Append one value (or None) per new row."""
        self._values.extend(np.array([0 if v is None else v for v in values], self._dtype))
        self._present.extend(np.array([value is not None for value in values], np.bool_))

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` and renumber them."""
        self._values.keep(rows)
        self._present.keep(rows)

    def is_null(self) -> Mask:
        """Rows without a value."""
        return ~self._present.view

    def any_of(self, values: Iterable[Any]) -> Mask:
        """Rows whose value is one of ``values``."""
        wanted = np.array(list(values), self._dtype)
        return np.isin(self._values.view, wanted) & self._present.view

    def where(self, predicate: Callable[[Any], bool]) -> Mask:
        """Rows whose value satisfies ``predicate``."""
        values = self._values.view.tolist()
        return np.fromiter(map(predicate, values), np.bool_, len(values)) & self._present.view

    def compare(self, op: str, value: Any) -> Mask:
        """Rows whose value compares so."""
        found: Mask = COMPARE[op](self._values.view, self._dtype(value))
        return found & self._present.view

    def ranks(self) -> Ranks:
        """The rank of each value among the distinct ones; -1 for null."""
        _, ranks = np.unique(self._values.view, return_inverse=True)
        return np.where(self._present.view, ranks, -1)
