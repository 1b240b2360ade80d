"""Parts are asked rarely and for a short time, and one that hangs holds up nobody for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from context_search.core.errors import DatabaseUnavailableError, QueueUnavailableError
from context_search.integrations.ports import SystemClock
from context_search.maintenance.part_checks import (
    KNOWN_FOR_S,
    PartCheck,
    PartHealth,
    PartName,
    Readiness,
)
from testing.in_memory.clock import ManualClock


@dataclass
class Part:
    """Counts how often it was asked, and may be away."""

    is_away: bool = False
    asked: int = 0

    def __call__(self) -> None:
        self.asked += 1
        if self.is_away:
            raise QueueUnavailableError("away")


def read(check: PartCheck, seconds: float = 30) -> PartHealth:
    check.begin()
    return check.result(check.clock.monotonic() + seconds)


@pytest.fixture
def hang() -> Iterator[Callable[[], None]]:
    """Waits until the test is over, and then for no longer."""
    is_over = threading.Event()

    def wait() -> None:
        is_over.wait(30)

    yield wait
    is_over.set()


def test_a_good_answer_holds_for_a_while_and_a_bad_one_does_not() -> None:
    clock, part = ManualClock(), Part()
    readiness = Readiness(PartCheck("database", part, clock, 5.0), ())
    for _ in range(9):
        readiness.check()
    assert part.asked == 1
    part.is_away = True
    readiness.check()  # nobody has asked anew
    clock.advance(KNOWN_FOR_S)
    for _ in range(2):
        with pytest.raises(DatabaseUnavailableError):
            readiness.check()
    part.is_away = False
    readiness.check()
    assert part.asked == 4


def test_since_is_when_the_state_began() -> None:
    clock, part = ManualClock(), Part()
    check = PartCheck("queue", part, clock, 5.0)
    began = clock.now()
    clock.advance(KNOWN_FOR_S)
    assert read(check).since == clock.now() != began
    part.is_away = True
    clock.advance(KNOWN_FOR_S)
    failed_at = clock.now()
    read(check)
    clock.advance(60)
    found = read(check)
    assert (found.state, found.code) == ("failing", "QUEUE_UNAVAILABLE")
    assert (found.since, found.checked_at) == (failed_at, clock.now())


def hasty(name: PartName, ask: Callable[[], None]) -> PartCheck:
    """A check of a part that has little time."""
    return PartCheck(name, ask, SystemClock(), 0.2)


def test_parts_that_hang_are_told_within_one_deadline(hang: Callable[[], None]) -> None:
    hanging = [hasty("vector_store", hang), hasty("queue", hang)]
    readiness = Readiness(hasty("database", lambda: None), hanging)
    began = time.monotonic()
    first, second = readiness.check(), readiness.check()
    took_s = time.monotonic() - began
    assert [(part.state, part.code) for part in first] == [
        ("ok", None),
        ("failing", "NO_ANSWER"),
        ("failing", "NO_ANSWER"),
    ]
    assert [part.state for part in second] == ["ok", "failing", "failing"]
    assert took_s < 5  # both hang, and each is waited for once


def test_a_database_that_hangs_is_unavailable(hang: Callable[[], None]) -> None:
    with pytest.raises(DatabaseUnavailableError):
        Readiness(hasty("database", hang), ()).check()


def test_what_is_still_loading_is_unknown(hang: Callable[[], None]) -> None:
    check = PartCheck("embedder", lambda: None, SystemClock(), 5.0, prepare=hang)
    found = read(check, 0.05)
    assert (found.state, found.code) == ("unknown", "NOT_CHECKED")
