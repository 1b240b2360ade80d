"""Array attributes: an inverted index from element to rows, so that Contains is a lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

import numpy as np

from local.turbopuffer.growing import GrowingArray, Mask, Rows
from local.turbopuffer.postings import Postings


class ArrayColumn:
    """A ``Column`` (see there)."""

    def __init__(self) -> None:
        self._postings = Postings()
        self._present = GrowingArray(np.bool_)

    def extend(self, values: Sequence[Any]) -> None:
        """Append one array (or None) per new row."""
        self._postings.add(len(self._present), [value or () for value in values])
        self._present.extend(np.array([value is not None for value in values], np.bool_))

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` and renumber them."""
        self._postings.keep(rows, len(self._present))
        self._present.keep(rows)

    def is_null(self) -> Mask:
        """Rows without an array."""
        return ~self._present.view

    def any_of(self, values: Iterable[Any]) -> Mask:
        """Rows that hold one of ``values``."""
        found = np.zeros(len(self._present), np.bool_)
        for value in values:
            found[self._postings.lookup(value)[0]] = True
        return found

    def where(self, predicate: Callable[[Any], bool]) -> Mask:
        """Rows that hold an element which satisfies ``predicate``."""
        terms = self._postings.terms()
        return self.any_of(compress(terms, map(predicate, terms)))
