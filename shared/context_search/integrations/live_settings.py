"""Settings that follow their secrets: passwords and keys are rotated while processes live."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from context_search.core.errors import ContextSearchError
from context_search.integrations.ports import Clock, SystemClock
from context_search.settings import Settings

MAX_AGE = timedelta(seconds=300)
RETRY = timedelta(seconds=60)
PAUSE = timedelta(seconds=5)
"""Minimum time between two reads of the secret, whatever is refused meanwhile, and by whomever."""
T = TypeVar("T")


class LiveSettings:
    """Settings that follow a rotated secret: read again after a refusal, and every five minutes.

    After a refusal, ``instead_of`` returns the present value. Values that nobody refuses are read
    from ``fresh_settings``, at most five minutes old. ``read_again`` returns the settings with the
    present secret; None: nothing can change.
    """

    clock: Clock

    def __init__(
        self, settings: Settings, read_again: Callable[[], Settings] | None = None
    ) -> None:
        self.settings = settings
        self.clock = SystemClock()
        self._read_again = read_again
        self._read_at = self.clock.now()
        self._looked_at: datetime | None = None
        self._looking = threading.Lock()

    @property
    def fresh_settings(self) -> Settings:
        """Returns the settings, read again when they are older than five minutes."""
        if self.clock.now() - self._read_at >= MAX_AGE:
            self._look()
        return self.settings

    def instead_of(self, pick: Callable[[Settings], T], refused: T) -> T | None:
        """Returns the value that has replaced a refused one; None if it has not changed."""
        if pick(self.settings) == refused:
            self._look()
        value = pick(self.settings)
        return None if value == refused else value

    def _look(self) -> None:
        if self._read_again is None:
            return
        with self._looking:
            now = self.clock.now()
            if self._looked_at is not None and now - self._looked_at < PAUSE:
                return
            self._looked_at = now
            try:
                self.settings = self._read_again()
            except ContextSearchError:
                # What is known goes on being used, and its age is asked for again in a minute.
                self._read_at = now - MAX_AGE + RETRY
            else:
                self._read_at = now
