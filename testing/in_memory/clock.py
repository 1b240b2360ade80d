"""Time that only moves when told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """The port ``Clock``; starts on 1 January 2026."""

    def __init__(self) -> None:
        self._elapsed_s = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        return self._elapsed_s

    def advance(self, seconds: float) -> None:
        """Lets time pass."""
        self._elapsed_s += seconds
