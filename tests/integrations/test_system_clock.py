"""The machine's clock behind the port, and deadlines on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from context_search.integrations.ports import Deadline, SystemClock
from testing.in_memory.clock import ManualClock


def test_now_is_the_present_in_utc() -> None:
    before = datetime.now(UTC)
    now = SystemClock().now()
    assert before <= now <= datetime.now(UTC)
    assert now.utcoffset() == timedelta(0)


def test_monotonic_time_never_goes_back() -> None:
    clock = SystemClock()
    times = [clock.monotonic() for _ in range(100)]
    assert times == sorted(times)


def test_a_deadline_counts_down_to_its_reserve_and_not_below_zero() -> None:
    clock = ManualClock()
    deadline = Deadline(clock, ends_at=100.0, reserve_s=30.0)
    assert deadline.left_s() == 70.0
    clock.advance(69.0)
    assert deadline.left_s() == 1.0
    clock.advance(1000.0)
    assert deadline.left_s() == 0.0
