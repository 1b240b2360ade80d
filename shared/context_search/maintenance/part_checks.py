"""Whether the parts that everything stands on answer. Anybody may ask, so asking is cheap.

Each part is asked in a thread, so that one that hangs delays none. An answer is kept for a few
seconds, so that any number of callers costs one question.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from context_search.core.errors import ContextSearchError, DatabaseUnavailableError
from context_search.integrations.ports import Clock, Deadline
from context_search.store import Store

KNOWN_FOR_S = 5.0
"""Seconds for which a good answer holds."""
NO_ANSWER = "NO_ANSWER"
NOT_CHECKED = "NOT_CHECKED"

PartName = Literal["database", "vector_store", "embedder", "queue", "indexes", "cleanup"]
PartState = Literal["ok", "failing", "unknown"]


@dataclass(frozen=True, slots=True)
class PartHealth:
    """How a part is. ``code`` is None where it is well; ``since`` when it is so, if known."""

    name: PartName
    state: PartState = "ok"
    code: str | None = None
    checked_at: datetime | None = None
    since: datetime | None = None


def verdict(parts: Sequence[PartHealth]) -> PartState:
    """Returns ``ok`` only if every part is.

    >>> verdict([PartHealth("queue"), PartHealth("embedder", "unknown")])
    'unknown'
    """
    states = {part.state for part in parts}
    return "failing" if "failing" in states else "unknown" if "unknown" in states else "ok"


@dataclass
class PartCheck:
    """Asks one part, one question at a time, and keeps what came.

    ``ask`` raises where the part is not well, or does not answer within ``within_s``. ``prepare``
    comes before it, and its time does not count against the part: a library that loads.
    """

    name: PartName
    ask: Callable[[], object]
    clock: Clock
    within_s: float
    prepare: Callable[[], object] = lambda: None
    _last: PartHealth = field(init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _done: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    _asked_at: float | None = field(default=None, init=False, repr=False)
    _good_until: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._last = PartHealth(self.name, "unknown", NOT_CHECKED)
        self._done.set()

    def begin(self) -> None:
        """Asks the part, unless a question is under way or its good answer still holds."""
        with self._lock:
            if not self._done.is_set() or self.clock.monotonic() < self._good_until:
                return
            self._done.clear()
            self._asked_at = None
        threading.Thread(target=self._run, name=f"check {self.name}", daemon=True).start()

    def result(self, until: float) -> PartHealth:
        """Returns how the part is; waits for its answer until a moment of the monotonic clock."""
        now = self.clock.monotonic()
        if self._asked_at is not None:
            until = min(until, self._asked_at + self.within_s)
        is_done = self._done.wait(max(0.0, until - now))
        if not is_done and self._asked_at is not None:
            self._note(NO_ANSWER)
        with self._lock:
            return self._last

    def _run(self) -> None:
        code = None
        try:
            self.prepare()
            self._asked_at = self.clock.monotonic()
            self.ask()
        except ContextSearchError as error:
            code = error.code
        except Exception:
            logging.getLogger(__name__).exception("a check of a part failed")
            code = "INTERNAL"
        self._note(code)
        self._done.set()

    def _note(self, code: str | None) -> None:
        now = self.clock.now()
        with self._lock:
            if code is None:
                self._good_until = self.clock.monotonic() + KNOWN_FOR_S
            state: PartState = "failing" if code else "ok"
            is_as_before = self._last.state == state
            self._last = replace(
                self._last,
                state=state,
                code=code,
                checked_at=now,
                since=self._last.since if is_as_before else now,
            )


DATABASE_WITHIN_S = 2.0
"""Seconds that Postgres has to answer."""


def ask_database(store: Store, clock: Clock) -> None:
    """Raises DatabaseUnavailableError when Postgres does not answer within two seconds."""
    deadline = Deadline(clock, clock.monotonic() + DATABASE_WITHIN_S)
    with store.for_all("say whether Postgres answers", deadline):
        pass


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether Postgres answers, and how the other parts are: see PartCheck."""

    database: PartCheck
    others: Sequence[PartCheck]

    def check(self) -> list[PartHealth]:
        """Returns the parts. Raises DatabaseUnavailableError when Postgres does not answer."""
        checks = [self.database, *self.others]
        for check in checks:
            check.begin()
        until = self.database.clock.monotonic() + max(check.within_s for check in checks)
        parts = [check.result(until) for check in checks]
        if parts[0].state != "ok":
            raise DatabaseUnavailableError(f"Postgres does not answer: {parts[0].code}")
        return parts
