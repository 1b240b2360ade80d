"""What a process remembers of what was searched lately."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass, field

from cachetools import TTLCache

from context_search.ports.time import Clock
from context_search.services.searching.answer import Target

KEPT_TARGETS = 500
KEPT_S = 30.0


@dataclass
class Targets:
    """What was searched lately: spares reading it once more. Every answer is checked against it."""

    clock: Clock
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _kept: TTLCache[Hashable, Target] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._kept = TTLCache(KEPT_TARGETS, KEPT_S, timer=self.clock.monotonic)

    def get(self, key: Hashable) -> Target | None:
        """Returns what was kept under a key."""
        with self._lock:
            return self._kept.get(key)

    def keep(self, key: Hashable, target: Target | None) -> None:
        """Keeps a target, or with None forgets it."""
        with self._lock:
            self._kept.pop(key, None)
            if target is not None:
                self._kept[key] = target
