"""What others charge for a call: turbopuffer by bytes, a model's provider by tokens or requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Billed:
    """Logical bytes as turbopuffer counts them, and tokens as the provider does.

    0 where a reply says nothing of it: some providers do not tell. ``reranks`` are answered
    requests to a reranking model: some of their providers count those, the others tokens.
    """

    written_bytes: int = 0
    queried_bytes: int = 0
    returned_bytes: int = 0
    tokens: int = 0
    reranks: int = 0
    rerank_tokens: int = 0

    def __add__(self, other: Billed) -> Billed:
        """Returns the sum of both, figure by figure."""
        return Billed(
            *(getattr(self, each.name) + getattr(other, each.name) for each in fields(self))
        )


OnBilled = Callable[[Billed], None]


class BillingMeter:
    """Adds up what providers bill, until ``take``. Threads may share it.

    A function takes the sum after each invocation. A thread that outlives its invocation adds to
    a later sum. Nothing is counted twice, and nothing is lost while the process lives.
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
