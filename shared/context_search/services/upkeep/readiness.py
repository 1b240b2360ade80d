"""Does Postgres answer? Anybody may ask, so asking is cheap and short."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from context_search.ports.outside import Clock, Deadline
from context_search.ports.store import Store

KNOWN_FOR_S = 5.0
"""Seconds for which a good answer holds: nobody opens more than one transaction in that time."""
ANSWERS_WITHIN_S = 2.0
"""Seconds that Postgres has to answer."""


@dataclass
class Readiness:
    """Whether Postgres answers. A process asks it once in five seconds while it does."""

    store: Store
    clock: Clock
    _good_until: float = field(default=0.0, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def check(self) -> None:
        """Raises DatabaseUnavailableError when Postgres does not answer within two seconds."""
        with self._lock:
            now = self.clock.monotonic()
            if now < self._good_until:
                return
            with self.store.for_all(
                "say whether Postgres answers", Deadline(self.clock, now + ANSWERS_WITHIN_S)
            ):
                pass
            self._good_until = now + KNOWN_FOR_S
