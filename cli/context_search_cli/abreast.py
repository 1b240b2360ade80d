"""Several requests at the same time, by threads that keep no command from being stopped."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")
AT_ONCE = 4
"""As the console asks, too."""
LAST_WORDS_S = 2.0
"""How long a command that fails or is stopped waits for the answers that are under way."""


def abreast(work: Callable[[A], B], items: Sequence[A], *, told: Callable[[int], None]) -> list[B]:
    """What ``work`` gives for each item, in the items' order, four at a time.

    ``told`` hears how many are done. When one has failed, and with Ctrl-C, no more is begun; of
    several that failed the first in order is raised. The threads are daemons: an answer that does
    not come keeps no process alive.
    """
    done: list[Future[B]] = [Future() for _ in items]
    left: queue.SimpleQueue[tuple[Future[B], A]] = queue.SimpleQueue()
    for pair in zip(done, items, strict=True):
        left.put(pair)
    stopped = threading.Event()

    def serve() -> None:
        while not stopped.is_set():
            try:
                result, item = left.get_nowait()
            except queue.Empty:
                return
            try:
                result.set_result(work(item))
            except BaseException as error:  # noqa: BLE001 - raised again by who asks for it
                stopped.set()
                result.set_exception(error)

    threads = [threading.Thread(target=serve, daemon=True) for _ in items[:AT_ONCE]]
    for thread in threads:
        thread.start()
    try:
        found: list[B] = []
        for result in done:
            found.append(result.result())
            told(len(found))
        return found
    finally:
        stopped.set()
        for thread in threads:
            thread.join(LAST_WORDS_S)
