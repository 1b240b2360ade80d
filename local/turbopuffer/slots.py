"""Query slots: how many queries of one namespace run at a time.

turbopuffer.com/docs/limits: 16 per namespace, each sub-query takes one; who finds none free
waits up to 800 ms and then gets 429.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from local.turbopuffer.errors import ApiError

_CAPACITY = 16
_MAX_WAIT_S = 0.8


class QuerySlots:
    """The slots of one namespace, for one event loop."""

    def __init__(self) -> None:
        self.in_use = 0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def take(self, cost: int) -> AsyncIterator[None]:
        """Hold ``cost`` slots, 16 at most; 429 after 800 ms."""
        async with self._freed:
            try:
                async with asyncio.timeout(_MAX_WAIT_S):
                    await self._freed.wait_for(lambda: self.in_use + cost <= _CAPACITY)
            except TimeoutError:
                raise ApiError(429, "too many concurrent queries on this namespace") from None
            self.in_use += cost
        try:
            yield
        finally:
            self.in_use -= cost
            async with self._freed:
                self._freed.notify_all()
