"""Query slots: how many queries of one namespace run at a time.

turbopuffer.com/docs/limits: 16 per namespace, each sub-query takes one; who finds none free
waits up to 800 ms and then gets 429.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from local.turbopuffer.errors import ApiError

MAX_WAIT_S = 0.8


class QuerySlots:
    """The slots of one namespace, for one event loop."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._free = capacity
        self._freed = asyncio.Condition()

    @property
    def in_use(self) -> int:
        """Slots taken at the moment."""
        return self._capacity - self._free

    @asynccontextmanager
    async def take(self, cost: int) -> AsyncIterator[None]:
        """Hold ``cost`` slots (all of them, when it asks for more); 429 after 800 ms."""
        cost = min(cost, self._capacity)
        async with self._freed:
            try:
                async with asyncio.timeout(MAX_WAIT_S):
                    await self._freed.wait_for(lambda: self._free >= cost)
            except TimeoutError:
                raise ApiError(429, "too many concurrent queries on this namespace") from None
            self._free -= cost
        try:
            yield
        finally:
            self._free += cost
            async with self._freed:
                self._freed.notify_all()
