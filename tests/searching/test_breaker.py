"""The circuit breaker."""

from __future__ import annotations

import pytest

from context_search.searching.breaker import Breaker
from testing.in_memory.clock import ManualClock

REFUSAL = "left alone"


def fail(breaker: Breaker, times: int, error: type[Exception] = OSError) -> None:
    for _ in range(times):
        with pytest.raises(error, match=r"^$"), breaker.guarding(OSError, REFUSAL):
            raise error


def lets_through(breaker: Breaker) -> bool:
    """Whether a call is made; it ends with an error of the part."""
    try:
        with breaker.guarding(OSError, REFUSAL):
            raise OSError("made")
    except OSError as error:
        return str(error) != REFUSAL


def test_it_opens_after_failures_in_a_row_and_lets_one_try_through_after_a_while() -> None:
    clock = ManualClock()
    breaker = Breaker(clock, failures=3, open_s=10)
    fail(breaker, 2)
    assert lets_through(breaker)
    assert not lets_through(breaker)
    clock.advance(10)
    assert [lets_through(breaker) for _ in range(3)] == [True, False, False]


def test_while_one_tries_the_others_are_refused() -> None:
    clock = ManualClock()
    breaker = Breaker(clock, failures=1, open_s=10)
    fail(breaker, 1)
    clock.advance(10)
    with breaker.guarding(OSError, REFUSAL):
        assert not lets_through(breaker)
    assert lets_through(breaker)


def test_a_try_that_succeeds_closes_it_and_one_that_fails_does_not() -> None:
    clock = ManualClock()
    breaker = Breaker(clock, failures=1, open_s=10)
    fail(breaker, 1)
    clock.advance(10)
    fail(breaker, 1)
    clock.advance(9)
    assert not lets_through(breaker)
    clock.advance(1)
    for _ in range(3):
        with breaker.guarding(OSError, REFUSAL):
            pass


def test_failures_count_only_in_a_row_and_only_those_of_the_part() -> None:
    breaker = Breaker(ManualClock(), failures=2)
    fail(breaker, 1)
    fail(breaker, 1, error=ValueError)  # the part answered: something else is wrong
    fail(breaker, 1)
    assert lets_through(breaker)
