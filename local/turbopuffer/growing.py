"""A numpy array that grows by doubling, so that appending n rows copies O(n) in total."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]


class GrowingArray(Generic[Scalar]):
    """Rows of ``dtype``: scalars, or vectors of ``width`` elements."""

    def __init__(self, dtype: type[Scalar], width: int | None = None) -> None:
        self._tail = () if width is None else (width,)
        self._buffer: NDArray[Any] = np.empty((0, *self._tail), dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        """Rows in use."""
        return self._size

    @property
    def view(self) -> NDArray[Scalar]:
        """The rows in use, without a copy; valid until the next ``extend`` or ``keep``."""
        return self._buffer[: self._size]

    def extend(self, values: NDArray[Any]) -> None:
        """Append ``values``."""
        needed = self._size + len(values)
        if needed > len(self._buffer):
            grown = np.empty((max(needed, 2 * len(self._buffer)), *self._tail), self._buffer.dtype)
            grown[: self._size] = self.view
            self._buffer = grown
        self._buffer[self._size : needed] = values
        self._size = needed

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` (ascending) and renumber them from 0."""
        self._buffer = self._buffer[rows]
        self._size = len(rows)
