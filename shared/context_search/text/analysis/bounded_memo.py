"""A dict that computes what it lacks and cannot grow without end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedMemo(dict[K, V]):
    """``memo[key]`` is ``compute(key)``, remembered for up to ``limit`` keys, then all forgotten.

    A dict rather than ``functools.lru_cache``: a hit costs half as much, ``str.translate`` takes
    it, and ``keep`` can say that a key is too big to remember. Threads may share one: each step
    is atomic, and at worst a value is computed twice.
    """

    def __init__(
        self, compute: Callable[[K], V], *, limit: int, keep: Callable[[K], bool] | None = None
    ) -> None:
        super().__init__()
        self._compute = compute
        self._limit = limit
        self._keep = keep

    def __missing__(self, key: K) -> V:
        value = self._compute(key)
        if self._keep is None or self._keep(key):
            if len(self) >= self._limit:
                self.clear()
            self[key] = value
        return value
