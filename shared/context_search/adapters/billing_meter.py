"""What a process is charged by others, added up between two invocations."""

from __future__ import annotations

import threading

from context_search.domain.billed import Billed


class BillingMeter:
    """Adds up what is billed until somebody takes it; safe to share between threads.

    A function takes it after each invocation. What belongs to a thread that an invocation left
    behind is taken by a later one: nothing is counted twice, or lost while the process lives.
    """

    def __init__(self) -> None:
        self._sum = Billed()
        self._lock = threading.Lock()

    def add(self, billed: Billed) -> None:
        """Adds what a reply told."""
        with self._lock:
            self._sum += billed

    def take(self) -> Billed:
        """Returns the sum since the last time."""
        with self._lock:
            taken, self._sum = self._sum, Billed()
        return taken
