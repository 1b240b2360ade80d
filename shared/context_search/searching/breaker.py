"""A circuit breaker: a part that keeps failing is left alone for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from context_search.integrations.ports import Clock

FAILURES_TO_OPEN = 5
OPEN_S = 10.0


class BreakerOpenError(Exception):
    """The cause of a failure that a breaker raises itself: the part was not asked."""


@dataclass
class Breaker:
    """Counts failures in a row, for one process and all of its threads.

    After ``failures`` of them it is open for ``open_s`` seconds; then one call at a time may try,
    and the first that succeeds closes it.
    Source: Nygard, Release It! (2007), Circuit Breaker.
    """

    clock: Clock
    failures: int = FAILURES_TO_OPEN
    open_s: float = OPEN_S
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _failed: int = 0
    _closed_from: float = 0.0

    @contextmanager
    def guarding(
        self, failure: type[Exception], refusal: str, *, is_usual: bool = True
    ) -> Iterator[None]:
        """Counts how a call ends: only a ``failure`` is one of the part. Errors are raised on.

        A failure of a call that is not usual says nothing about the part, and is not counted.

        While it is open there is no call: raises a ``failure`` that says ``refusal``, from
        BreakerOpenError.
        """
        if not self._lets_through():
            raise failure(refusal) from BreakerOpenError
        has_failed = False
        try:
            yield
        except failure:
            has_failed = True
            raise
        finally:
            if not has_failed:
                self._note_answer()
            elif is_usual:
                self._note_failure()

    def _lets_through(self) -> bool:
        with self._lock:
            if self._failed < self.failures:
                return True
            now = self.clock.monotonic()
            if now < self._closed_from:
                return False
            self._closed_from = now + self.open_s  # others wait for how this try ends
            return True

    def _note_answer(self) -> None:
        with self._lock:
            self._failed = 0

    def _note_failure(self) -> None:
        with self._lock:
            self._failed += 1
            if self._failed >= self.failures:
                self._closed_from = self.clock.monotonic() + self.open_s


@dataclass
class Breakers:
    """A circuit breaker for each part of a kind, so that one which fails takes no other with it."""

    clock: Clock
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _by_name: dict[str, Breaker] = field(default_factory=dict)

    def of(self, name: str) -> Breaker:
        """Returns the breaker of a part; each has its own from the first call on."""
        with self._lock:
            return self._by_name.setdefault(name, Breaker(self.clock))
