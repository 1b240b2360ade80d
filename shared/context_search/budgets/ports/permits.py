"""How many searches of a project are under way."""

from __future__ import annotations

from typing import Protocol


class Permits(Protocol):
    """Pools of numbered permits. A permit that was not returned is free when its lease ends.

    ``take`` is a transaction by itself: nothing else may run in it. ``give_back`` goes with what
    is read next, or with the end of the transaction.
    """

    def take(self, pool: str, *, size: int, count: int, lease_s: float) -> str | None:
        """Takes ``count`` of the ``size`` permits of a pool, all or none.

        Returns the holder to give back with; None when too few are free. Never waits.
        """
        ...

    def renew(self, pool: str, holder: str, *, lease_s: float) -> bool:
        """Lets the lease of what ``holder`` has end in ``lease_s`` seconds from now.

        Nobody else takes it until the transaction ends. False: somebody else has it by now.
        """
        ...

    def give_back(self, pool: str, holder: str) -> None:
        """Frees what ``holder`` has; nothing happens when its lease has ended."""
        ...

    def forget_unused(self, *, unused_s: float, limit: int) -> int:
        """Deletes the rows of permits that nobody took for so long; returns how many."""
        ...
