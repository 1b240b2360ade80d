"""Time and how much of it an invocation has left."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time that moves forward; a test moves it by hand."""

    def now(self) -> datetime:
        """Returns the current time, with a time zone."""
        ...

    def monotonic(self) -> float:
        """Returns seconds from an arbitrary start."""
        ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """How long this invocation may still work, in seconds of a monotonic clock."""

    clock: Clock
    ends_at: float
    reserve_s: float = 0.0

    def left_s(self) -> float:
        """Returns the seconds that are left, never below zero."""
        return max(0.0, self.ends_at - self.reserve_s - self.clock.monotonic())
