"""Several requests at the same time, by threads that keep no command from being stopped."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
AT_ONCE = 4
"""As the console asks, too."""
LAST_WORDS_S = 2.0
"""How long a command that fails or is stopped waits for the answers that are under way."""


def concurrently(
    work: Callable[[T], None], items: Sequence[T], *, reported: Callable[[int], None]
) -> None:
    """Does ``work`` with each item, four at a time.

    ``reported`` hears how many are done. When one has failed, and with Ctrl-C, no more is begun; of
    several that failed the first in order is raised. The threads are daemons: an answer that does
    not come keeps no process alive.
    """
    done: list[Future[None]] = [Future() for _ in items]
    left: queue.SimpleQueue[tuple[Future[None], T]] = queue.SimpleQueue()
    for pair in zip(done, items, strict=True):
        left.put(pair)
    stopped = threading.Event()

    def serve() -> None:
        while not stopped.is_set():
            try:
                ended, item = left.get_nowait()
            except queue.Empty:
                return
            try:
                work(item)
                ended.set_result(None)
            except BaseException as error:  # noqa: BLE001 - raised again by who asks for it
                stopped.set()
                ended.set_exception(error)

    threads = [threading.Thread(target=serve, daemon=True) for _ in items[:AT_ONCE]]
    for thread in threads:
        thread.start()
    try:
        for number, ended in enumerate(done, start=1):
            ended.result()
            reported(number)
    finally:
        stopped.set()
        for thread in threads:
            thread.join(LAST_WORDS_S)
