"""What a provider answers through litellm, which passes on whatever that is: checked here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from context_search.domain.errors import EmbeddingDimensionMismatchError

if TYPE_CHECKING:
    from collections.abc import Sequence


def vectors_of(reply: Any, count: int, dimensions: int) -> list[list[float]]:
    """The reply's vectors in the order of the texts; EmbeddingDimensionMismatchError if wrong."""
    try:
        items = reply.data or ()
        if len(items) != count:
            raise EmbeddingDimensionMismatchError(f"{len(items)} vectors for {count} texts")
        return [_checked(item["embedding"], dimensions) for item in _in_order(items)]
    except (AttributeError, KeyError, TypeError):
        raise EmbeddingDimensionMismatchError("the reply is no list of number lists") from None


def _in_order(items: Sequence[Any]) -> Sequence[Any]:
    """Sorted by ``index`` where the provider gives one; then each index has to be there once."""
    indexes = [item.get("index") for item in items]
    if all(index is None for index in indexes):
        return items
    if sorted(indexes) != list(range(len(items))):
        raise EmbeddingDimensionMismatchError("the reply's indexes are not each there once")
    return sorted(items, key=lambda item: int(item["index"]))


def _checked(vector: Any, dimensions: int) -> list[float]:
    if len(vector) != dimensions:
        raise EmbeddingDimensionMismatchError(f"{len(vector)} numbers, {dimensions} expected")
    if not all(map(math.isfinite, vector)):
        raise EmbeddingDimensionMismatchError("the reply holds NaN or infinity")
    return list(vector)
