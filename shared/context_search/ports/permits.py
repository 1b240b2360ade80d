"""Permits: leased numbers that bound how much goes on at once, over all processes."""

from __future__ import annotations

from typing import Protocol


class Permits(Protocol):
    """Pools of numbered permits. A permit that nobody gave back is free again after its lease.

    ``take`` and ``give_back`` are transactions by themselves: nothing else may run in theirs.
    """

    def take(self, pool: str, *, size: int, count: int, lease_s: float) -> str | None:
        """Takes ``count`` of the ``size`` permits of a pool, all or none.

        Returns the holder to give back with; None when too few are free. Never waits.
        """
        ...

    def give_back(self, pool: str, holder: str) -> None:
        """Frees what ``holder`` has; nothing happens when its lease has ended."""
        ...

    def forget_unused(self, *, unused_s: float, limit: int) -> int:
        """Deletes the rows of permits that nobody took for so long; returns how many."""
        ...
