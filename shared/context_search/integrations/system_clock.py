"""The machine's clock behind the port ``Clock``."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
