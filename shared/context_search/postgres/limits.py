"""What every transaction carries with it: how long it may take, and whose rows it sees."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.integrations.ports import Deadline
from context_search.postgres.connection import search_path
from context_search.postgres.errors import PostgresUnavailableError
from context_search.postgres.session import Statements

_REPLY_MARGIN_S = 2.0
"""Seconds to wait for the server's reply after the time at which it stops a statement itself."""
_IDLE_IN_TRANSACTION_MS = 30_000
# Without rows: nothing of all that is NULL. It runs in the role's own path, where functions and
# operators may be anybody's.
_SETTINGS = """
    SELECT WHERE pg_catalog.concat(
        pg_catalog.set_config('statement_timeout', :statement, true),
        pg_catalog.set_config('lock_timeout', :lock, true),
        pg_catalog.set_config('search_path', :path, true),
        pg_catalog.set_config('context_search.project_id', :project, true)) IS NULL
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the statements of a transaction may take and see; 0 milliseconds mean no limit."""

    statement_ms: int
    lock_ms: int
    project_id: int | None
    deadline: Deadline | None

    def check(self) -> float | None:
        """Returns how many seconds are left; None means that nobody counts.

        Raises PostgresUnavailableError after the deadline.
        """
        if self.deadline is None:
            return None
        left_s = self.deadline.left_s()
        if int(left_s * 1000) < 1:
            raise PostgresUnavailableError("no time is left for the database")
        return left_s

    def reply_s(self) -> float | None:
        """Returns how long to wait for a reply: the server stops a statement before."""
        limit_s = self.check() or self.statement_ms / 1000
        return limit_s + _REPLY_MARGIN_S if limit_s else None

    def opening(self, path: tuple[str, ...]) -> Statements:
        """The statements that begin the transaction, with the time that is left by now.

        ``path`` is the role's own.
        """
        limits = (
            "BEGIN",
            f"SET LOCAL statement_timeout = {self._statement_ms_left():d}",
            f"SET LOCAL lock_timeout = {self.lock_ms:d}",
            f"SET LOCAL search_path = {search_path(path)}",
            f"SET LOCAL context_search.project_id = '{self._project}'",
            f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE_IN_TRANSACTION_MS:d}",
        )
        return [(sql, {}) for sql in limits]

    def settings(self, path: tuple[str, ...]) -> Statements:
        """The same limits as one statement without rows, for a transaction of one exchange.

        Nobody is idle in that: it ends with the exchange, which is what begins it, too.
        """
        values = {
            "statement": f"{self._statement_ms_left():d}",
            "lock": f"{self.lock_ms:d}",
            "path": search_path(path),
            "project": self._project,
        }
        return [(_SETTINGS, values)]

    @property
    def _project(self) -> str:
        return "*" if self.project_id is None else f"{self.project_id:d}"

    def _statement_ms_left(self) -> int:
        left_s = self.check()
        limits_ms = [self.statement_ms, int((left_s or 0) * 1000)]
        return min((limit for limit in limits_ms if limit), default=0)
