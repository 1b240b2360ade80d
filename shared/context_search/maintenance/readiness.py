"""Do the parts that everything stands on answer? Anybody may ask, so asking is cheap and short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.core.errors import DatabaseUnavailableError
from context_search.integrations.ports import Clock, Deadline
from context_search.maintenance.part_checks import PartCheck, PartHealth
from context_search.store import Store

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
