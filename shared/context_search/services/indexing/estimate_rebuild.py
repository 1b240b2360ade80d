"""What a rebuild would take, before anybody orders it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from context_search.domain.access import Caller
from context_search.ports.indexing import Size
from context_search.ports.store import Store
from context_search.services.access.lookup import index_of, live_tool, opened_for
from context_search.services.indexing.rebuild import Model

CHUNKS_PER_SECOND = 200


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a rebuild will take. ``cost`` is None when no price is configured."""

    nodes: int
    chunks: int
    tokens: int
    cost: float | None
    seconds: int


@dataclass(frozen=True, slots=True)
class EstimateRebuild:
    """The dry run: counts what the index holds now."""

    store: Store
    model: Model

    def __call__(self, tool_id: int, caller: Caller) -> Estimate:
        """Raises NotFoundError."""
        with opened_for(self.store, caller) as work:
            size = work.rebuilds.size(index_of(work, live_tool(work, tool_id, caller)))
        tokens = _tokens(size)
        price = self.model.price
        return Estimate(
            nodes=size.nodes,
            chunks=size.chunks,
            tokens=tokens,
            cost=None if price is None else round(tokens * price / 1e6, 6),
            seconds=math.ceil(size.chunks / CHUNKS_PER_SECOND),
        )


def _tokens(size: Size) -> int:
    """A character of three bytes is about a token, four characters of one byte are another."""
    wide = (size.bytes - size.characters) // 2
    return wide + (size.characters - wide) // 4
