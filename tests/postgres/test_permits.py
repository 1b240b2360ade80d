"""Permits when a line breaks before its answer, and what is asked runs once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_search.budgets.sql.permits import Permits
from context_search.postgres.pool import Transaction

if TYPE_CHECKING:
    from context_search.postgres.pool import Database


class Repeated(Transaction):
    """Commits each statement twice and gives the second answer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run_and_commit(self, sql: str, /, **parameters: object) -> list[list[Any]]:
        for _ in range(2):
            with self._database.transaction() as tx:
                rows = tx.run_and_commit(sql, **parameters)
        return rows


def test_who_takes_the_last_permits_twice_has_them(database: Database) -> None:
    with database.transaction() as tx:
        Permits(tx).take("a", size=2, count=0, lease_s=60)  # makes the rows
    holder = Permits(Repeated(database)).take("a", size=2, count=2, lease_s=60)
    assert holder is not None
    with database.transaction() as tx:
        assert Permits(tx).take("a", size=2, count=1, lease_s=60) is None
    for _ in range(2):
        with database.transaction() as tx:
            Permits(tx).give_back("a", holder)
    with database.transaction() as tx:
        assert Permits(tx).take("a", size=2, count=2, lease_s=60) is not None
