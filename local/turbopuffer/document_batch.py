"""Documents on their way into a namespace: checked, canonical, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from local.turbopuffer.ids import Id
from local.turbopuffer.vectors import Matrix


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """Whole documents: ids, attributes without nulls and vectors, and one matrix per vector."""

    ids: Sequence[Id] = ()
    attributes: Sequence[Mapping[str, Any]] = ()
    vectors: Mapping[str, Matrix] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many documents."""
        return len(self.ids)

    def take(self, positions: Sequence[int]) -> DocumentBatch:
        """The documents at ``positions``, in that order."""
        return DocumentBatch(
            [self.ids[i] for i in positions],
            [self.attributes[i] for i in positions],
            {name: matrix[list(positions)] for name, matrix in self.vectors.items()},
        )

    def joined(self, other: DocumentBatch) -> DocumentBatch:
        """These documents and then the ``other`` ones."""
        if not len(self) or not len(other):
            return self if len(self) else other
        return DocumentBatch(
            [*self.ids, *other.ids],
            [*self.attributes, *other.attributes],
            {name: np.concatenate([m, other.vectors[name]]) for name, m in self.vectors.items()},
        )
