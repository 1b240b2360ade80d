"""Whole transactions again, when Postgres aborted them in favour of another one."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, TypeVar

from context_search.adapters.postgres.errors import TransactionAbortedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from context_search.adapters.postgres.pool import Database
    from context_search.adapters.postgres.transaction import Transaction

T = TypeVar("T")

_RANDOM = secrets.SystemRandom().random
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 1.0


def retrying(
    database: Database,
    work: Callable[[Transaction], T],
    *,
    attempts: int = 5,
    sleep: Callable[[float], None] = time.sleep,
    random: Callable[[], float] = _RANDOM,
) -> T:
    """Runs ``work`` in a transaction, at most ``attempts`` times, and returns its result.

    Again only after a serialization failure or a deadlock (TransactionAbortedError), with full
    jitter between attempts: ``random()`` in 0..1 of 20 ms doubled each time, up to 1 s.
    ``work`` must do nothing but statements, as it may run several times.
    Raises what ``work`` and ``Database.transaction`` raise; the last abort when all fail.
    """
    for attempt in range(attempts - 1):
        try:
            with database.transaction() as tx:
                return work(tx)
        except TransactionAbortedError:
            sleep(random() * min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**attempt))
    with database.transaction() as tx:
        return work(tx)
