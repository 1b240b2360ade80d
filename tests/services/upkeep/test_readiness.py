"""Whether Postgres answers is asked rarely and for a short time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import pytest

from context_search.domain.errors import DatabaseUnavailableError
from context_search.ports.outside import Deadline
from context_search.ports.store import UnitOfWork
from context_search.services.upkeep.readiness import ANSWERS_WITHIN_S, KNOWN_FOR_S, Readiness
from testing.in_memory.clock import ManualClock
from testing.in_memory.store import MemoryStore


@dataclass
class Counted:
    """A store that counts its transactions, and may be away."""

    inner: MemoryStore
    is_away: bool = False
    times: list[float] = field(default_factory=list)

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        return self.inner.for_project(project_id, deadline)

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        self.times.append(deadline.left_s() if deadline else 0.0)
        if self.is_away:
            raise DatabaseUnavailableError("away")
        return self.inner.for_all(reason, deadline)


def test_a_good_answer_holds_for_a_while_and_a_bad_one_does_not() -> None:
    clock = ManualClock()
    store = Counted(MemoryStore(clock))
    readiness = Readiness(store, clock)
    for _ in range(9):
        readiness.check()
    assert store.times == [ANSWERS_WITHIN_S]
    store.is_away = True
    readiness.check()  # nobody has asked anew
    clock.advance(KNOWN_FOR_S)
    for _ in range(2):
        with pytest.raises(DatabaseUnavailableError):
            readiness.check()
    store.is_away = False
    readiness.check()
    assert len(store.times) == 4
