"""Threads that callers share: one after the other has its turn, however many calls one brings."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class FairThreads:
    """Runs calls in at most ``threads`` threads, of one caller in at most ``each`` of them.

    What cannot run yet waits, and callers take turns: the first call of each, then the second.
    """

    def __init__(self, threads: int, each: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="function")
        self._free = threads
        self._each = each
        self._running: Counter[Hashable] = Counter()
        # The caller whose turn it is comes first.
        self._waiting: dict[Hashable, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        self._lock = threading.Lock()

    def submit(self, caller: Hashable, call: Callable[[], T]) -> Future[T]:
        """Returns what the call will give; cancelling it works until it runs."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.setdefault(caller, deque()).append((future, call))
            self._start()
        return future

    def shutdown(self) -> None:
        """Starts nothing more; what runs goes on."""
        with self._lock:
            for calls in self._waiting.values():
                for future, _ in calls:
                    future.cancel()
            self._waiting.clear()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start(self) -> None:
        """Starts what may run; with the lock."""
        while self._free and (caller := self._next()) is not None:
            calls = self._waiting.pop(caller)
            future, call = calls.popleft()
            if calls:
                self._waiting[caller] = calls  # behind the others
            if future.set_running_or_notify_cancel():
                self._free -= 1
                self._running[caller] += 1
                self._pool.submit(self._run, caller, future, call)

    def _next(self) -> Hashable | None:
        return next((one for one in self._waiting if self._running[one] < self._each), None)

    def _run(self, caller: Hashable, future: Future[Any], call: Callable[[], Any]) -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is for whoever waits
            future.set_exception(error)
        with self._lock:
            self._free += 1
            self._running[caller] -= 1
            if not self._running[caller]:
                del self._running[caller]
            self._start()
