"""string, uuid and datetime attributes: each distinct text once, and a code per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from local.turbopuffer.column import COMPARE, Ranks
from local.turbopuffer.growing import GrowingArray, Mask, Rows

_NULL = -1


class TextColumn:
    """A ``ScalarColumn`` (see there). Texts compare by code point, which is UTF-8's order."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._codes_of: dict[str, int] = {}
        self._codes = GrowingArray(np.int32)
        self._rank_table: Ranks | None = None

    def extend(self, values: Sequence[Any]) -> None:
        """Append one value (or None) per new row."""
        self._codes.extend(np.array([self._code(value) for value in values], np.int32))

    def keep(self, rows: Rows) -> None:
        """Keep ``rows``, renumber them, and forget texts that no row has."""
        codes = self._codes.view[rows].tolist()
        kept = [None if code == _NULL else self._texts[code] for code in codes]
        self._texts, self._codes_of, self._rank_table = [], {}, None
        self._codes = GrowingArray(np.int32)
        self.extend(kept)

    def is_null(self) -> Mask:
        """Rows without a value."""
        nulls: Mask = self._codes.view == _NULL
        return nulls

    def any_of(self, values: Iterable[Any]) -> Mask:
        """Rows whose value is one of ``values``."""
        codes = [self._codes_of[value] for value in values if value in self._codes_of]
        if len(codes) == 1:
            codes_match: Mask = self._codes.view == codes[0]
            return codes_match
        return np.isin(self._codes.view, np.array(codes, np.int32))

    def where(self, predicate: Callable[[Any], bool]) -> Mask:
        """Rows whose value satisfies ``predicate``, asked once per distinct text."""
        # One place more than there are texts: code -1 finds the last, which stays False.
        table = np.zeros(len(self._texts) + 1, np.bool_)
        table[:-1] = np.fromiter(map(predicate, self._texts), np.bool_, len(self._texts))
        return table[self._codes.view]

    def compare(self, op: str, value: Any) -> Mask:
        """Rows whose value compares so."""
        compare = COMPARE[op]
        return self.where(lambda text: bool(compare(text, value)))

    def ranks(self) -> Ranks:
        """The rank of each value among the distinct ones; -1 for null."""
        table = self._rank_table
        if table is None:  # kept until a new text comes: paging through a namespace sorts once
            order = sorted(range(len(self._texts)), key=self._texts.__getitem__)
            table = np.full(len(order) + 1, _NULL, np.int64)
            table[order] = np.arange(len(order))
            self._rank_table = table
        return table[self._codes.view]

    def _code(self, value: str | None) -> int:
        if value is None:
            return _NULL
        code = self._codes_of.get(value)
        if code is None:
            code = self._codes_of[value] = len(self._texts)
            self._texts.append(value)
            self._rank_table = None
        return code
