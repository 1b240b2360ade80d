"""Which call runs when, told by the order in which they ran."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from functools import partial

import pytest

from local.fair_threads import FairThreads


class Turns:
    """Calls that note that they ran; one of them holds a thread until it is let go."""

    def __init__(self, threads: int, each: int) -> None:
        self.threads = FairThreads(threads, each)
        self.ran: list[str] = []
        self.held = threading.Event()
        self.go = threading.Event()

    def hold(self, caller: str) -> Future[None]:
        """Submits a call that stays; returns when it runs."""
        future = self.threads.submit(caller, self._stay)
        assert self.held.wait(10)
        return future

    def _stay(self) -> None:
        self.held.set()
        self.go.wait(10)

    def submit(self, *names: str) -> list[Future[None]]:
        """A name is the caller's letter and a number."""
        return [self.threads.submit(name[0], partial(self.ran.append, name)) for name in names]


def test_callers_take_turns_however_many_calls_one_has_brought() -> None:
    turns = Turns(threads=1, each=1)
    turns.hold("z")
    waiting = turns.submit("a1", "a2", "a3", "a4", "b1", "c1", "c2")
    turns.go.set()
    for future in waiting:
        future.result(10)
    assert turns.ran == ["a1", "b1", "c1", "a2", "c2", "a3", "a4"]


def test_a_caller_who_comes_later_is_next() -> None:
    turns = Turns(threads=1, each=1)
    turns.hold("z")
    waiting = turns.submit("a1", "a2", "a3")
    waiting += turns.submit("b1")
    turns.go.set()
    for future in waiting:
        future.result(10)
    assert turns.ran == ["a1", "b1", "a2", "a3"]


def test_a_caller_with_all_of_its_threads_in_use_leaves_the_others_free() -> None:
    turns = Turns(threads=2, each=1)
    turns.hold("a")
    waiting = turns.submit("a1")
    [other] = turns.submit("b1")
    other.result(10)
    assert turns.ran == ["b1"]
    turns.go.set()
    waiting[0].result(10)
    assert turns.ran == ["b1", "a1"]


def test_a_call_that_nobody_waits_for_any_more_never_runs() -> None:
    turns = Turns(threads=1, each=1)
    turns.hold("z")
    first, second = turns.submit("a1", "a2")
    assert first.cancel()
    turns.go.set()
    second.result(10)
    assert turns.ran == ["a2"]


def test_what_a_call_raises_comes_back_and_its_thread_goes_on() -> None:
    threads = FairThreads(1, 1)
    with pytest.raises(ZeroDivisionError):
        threads.submit("a", lambda: 1 // 0).result(10)
    assert threads.submit("a", lambda: 1).result(10) == 1


def test_after_the_shutdown_nothing_starts() -> None:
    turns = Turns(threads=1, each=1)
    held = turns.hold("z")
    [waiting] = turns.submit("a1")
    turns.threads.shutdown()
    turns.go.set()
    held.result(10)
    assert waiting.cancelled()
    assert turns.ran == []
