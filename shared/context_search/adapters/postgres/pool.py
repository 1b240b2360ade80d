"""Transactions over as many guarded connections as there are threads that need one."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from context_search.adapters.postgres.connection import Connection
from context_search.adapters.postgres.errors import PostgresUnavailableError
from context_search.adapters.postgres.line import Line
from context_search.adapters.postgres.transaction import REPLY_MARGIN_S, Transaction, bulk
from context_search.domain.errors import ContextSearchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from context_search.adapters.postgres.url import DatabaseUrl
    from context_search.ports.time import Deadline

__all__ = ["Database", "Transaction", "bulk"]

_CONNECT_S = 5.0
_INVALID_AUTHORIZATION = "28"  # a class of SQLSTATE: unknown role, wrong password
_IDLE_IN_TRANSACTION_MS = 30_000
# What only we use lies in a schema of its own: docs/decisions/0028-where-tables-live.md
_SEARCH_PATH = "SET LOCAL search_path = context_search, public"


class Database:
    """Hands out transactions; safe for several threads, one connection per transaction.

    Nothing connects before the first transaction. Each transaction carries its limits with it
    (``SET LOCAL`` in one round trip with BEGIN and the first statement): RDS Proxy and PgBouncer
    refuse them in the start-up message, and a plain SET would pin or leak the session.
    """

    def __init__(
        self,
        url: DatabaseUrl,
        *,
        statement_timeout_ms: int = 10_000,
        lock_timeout_ms: int = 3_000,
        max_connections: int = 1,
        acquire_timeout_s: float = 5.0,
        application_name: str = "context-search",
        instead_of: Callable[[DatabaseUrl], DatabaseUrl | None] = lambda _: None,
    ) -> None:
        """``acquire_timeout_s`` is how long a thread waits for one of ``max_connections``.

        A timeout of 0 milliseconds means none. ``instead_of`` tells which URL has taken the place
        of one that was refused, if one has.
        """
        self._url = url
        self._instead_of = instead_of
        self._statement_timeout_ms = statement_timeout_ms
        self._lock_timeout_ms = lock_timeout_ms
        self._acquire_timeout_s = acquire_timeout_s
        self._application_name = application_name
        self._permits = threading.BoundedSemaphore(max_connections)
        self._idle: deque[Connection] = deque()
        self._thread = threading.local()
        self._is_open = True

    @contextlib.contextmanager
    def transaction(
        self,
        *,
        statement_timeout_ms: int | None = None,
        project_id: int | None = None,
        deadline: Deadline | None = None,
    ) -> Iterator[Transaction]:
        """Commits at the end of the block, rolls back when an exception leaves it.

        ``statement_timeout_ms`` is another limit per statement for this transaction.
        ``project_id`` is the one project whose rows a role that does not own the tables may see;
        None is work on all of them. After ``deadline`` no statement begins, and one that is under
        way then is stopped.
        Raises RuntimeError when this thread is in a transaction already, CommitUnknownError when
        the reply to COMMIT got lost, otherwise what ``Connection.query`` raises; a definite error
        means that nothing was committed.
        """
        if getattr(self._thread, "is_busy", False):
            raise RuntimeError("transactions do not nest")
        limit_ms = self._statement_timeout_ms
        if statement_timeout_ms is not None:
            limit_ms = statement_timeout_ms
        with self._permit(deadline):
            limit_ms = _within(deadline, limit_ms)
            opening = partial(_opening, deadline, limit_ms, self._lock_timeout_ms, project_id)
            reply_s = limit_ms / 1000 + REPLY_MARGIN_S if limit_ms else None
            line = Line(self._idle_one(), partial(self._connect, deadline), opening, reply_s)
            tx = Transaction(line, deadline)
            self._thread.is_busy = True
            try:
                yield tx
                tx.end()
                line.commit()
            finally:
                self._thread.is_busy = False
                tx.end()
                self._give_back(line.connection)

    def close(self) -> None:
        """Closes the idle connections now and the others when their transactions end."""
        self._is_open = False
        while self._idle:
            self._idle.pop().close()

    @contextlib.contextmanager
    def _permit(self, deadline: Deadline | None) -> Iterator[None]:
        if not self._permits.acquire(timeout=_at_most(self._acquire_timeout_s, deadline)):
            raise PostgresUnavailableError("all connections are in use")
        try:
            yield
        finally:
            self._permits.release()

    def _idle_one(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _connect(self, deadline: Deadline | None) -> Connection:
        url = self._url
        try:
            return self._login(url, deadline)
        except PostgresUnavailableError as refusal:
            if not refusal.sqlstate.startswith(_INVALID_AUTHORIZATION):
                raise
            if (other := self._instead_of(url)) is None:
                raise
        # Nothing has been sent yet, so nothing is done twice.
        self._url = other
        return self._login(other, deadline)

    def _login(self, url: DatabaseUrl, deadline: Deadline | None) -> Connection:
        timeout_s = _at_most(_CONNECT_S, deadline)
        return Connection(url, application_name=self._application_name, timeout_s=timeout_s)

    def _give_back(self, connection: Connection) -> None:
        if connection.transaction_status in {"T", "E"}:
            with contextlib.suppress(ContextSearchError):
                connection.query("ROLLBACK")
        if connection.transaction_status == "I":
            self._idle.append(connection)
        else:
            connection.close()
        if not self._is_open:
            self.close()


def _at_most(usual_s: float, deadline: Deadline | None) -> float:
    return usual_s if deadline is None else min(usual_s, deadline.left_s())


def _within(deadline: Deadline | None, limit_ms: int) -> int:
    """Returns a limit of statements that ends with the deadline; 0 milliseconds mean none."""
    if deadline is None:
        return limit_ms
    left_ms = int(deadline.left_s() * 1000)
    if not left_ms:
        raise PostgresUnavailableError("no time is left for a transaction")
    return min(limit_ms, left_ms) if limit_ms else left_ms


def _opening(
    deadline: Deadline | None, limit_ms: int, lock_timeout_ms: int, project_id: int | None
) -> tuple[str, ...]:
    project = "*" if project_id is None else f"{project_id:d}"
    return (
        "BEGIN",
        f"SET LOCAL statement_timeout = {_within(deadline, limit_ms):d}",
        f"SET LOCAL lock_timeout = {lock_timeout_ms:d}",
        _SEARCH_PATH,
        f"SET LOCAL context_search.project_id = '{project}'",
        f"SET LOCAL idle_in_transaction_session_timeout = {_IDLE_IN_TRANSACTION_MS:d}",
    )
