"""The connection of a transaction: BEGIN goes with the first statement, a dead one is replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_search.adapters.postgres.connection import Connection, Reply
from context_search.adapters.postgres.errors import (
    PostgresUnavailableError,
    StatementRejectedError,
)
from context_search.domain.errors import (
    CommitUnknownError,
    ContextSearchError,
    DatabaseUnavailableError,
    InvalidInputError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BEGIN_REPLY_S = 2.0


class Line:
    """A connection for one transaction after the other, each of which begins with ``opening``.

    ``idle`` was used before and may be dead by now; ``connect`` makes a new one. ``opening`` is
    asked for when it is sent, as less time may be left by then; ``reply_s`` is how long to wait for
    each reply after that to BEGIN.
    """

    def __init__(
        self,
        idle: Connection | None,
        connect: Callable[[], Connection],
        opening: Callable[[], tuple[str, ...]],
        reply_s: float | None,
    ) -> None:
        self.connection = idle or connect()
        self._may_be_dead = idle is not None
        self._connect = connect
        self._opening = opening
        self._reply_s = reply_s
        self._has_begun = self._has_committed = False

    def query(self, sql: str, parameters: Mapping[str, object]) -> Reply:
        """Runs a statement in the transaction, the first one together with BEGIN."""
        if not self._has_begun:
            if parameters:
                return self._first(sql, parameters)
            self._begin()
        if self.connection.transaction_status == "I":
            # A COMMIT that was sent along has failed. Without a transaction the statement would
            # run without its limits and its project, and stay.
            raise _failed()
        return self.connection.query(sql, parameters)

    def query_and_commit(self, sql: str, parameters: Mapping[str, object]) -> Reply:
        """Runs a statement in a transaction of its own. Raises RuntimeError inside of another."""
        if self._has_begun:
            raise RuntimeError("the transaction has begun")
        reply = self._first(sql, parameters, after=("COMMIT",))
        self._has_begun, self._has_committed = False, True
        return reply

    def wait_at_most(self, timeout_s: float) -> None:
        """Sets how long to wait for each further reply."""
        self._reply_s = timeout_s
        if self._has_begun:
            self.connection.wait_at_most(timeout_s)

    def commit(self) -> None:
        """Commits what has run. Where nothing has, it asks the server at least whether it is there.

        Raises CommitUnknownError when the reply got lost; a definite error means nothing committed.
        """
        if self._has_committed:
            return
        if not self._has_begun:
            self._begin()
        status = self.connection.transaction_status
        if not status:
            raise PostgresUnavailableError("the connection was lost in the transaction")
        if status != "T":
            # Postgres would answer COMMIT with a quiet ROLLBACK.
            raise _failed()
        try:
            self.connection.query("COMMIT")
        except DatabaseUnavailableError:
            if self.connection.is_healthy:
                raise
            raise CommitUnknownError("the reply to COMMIT got lost") from None

    def _begin(self) -> None:
        # An empty statement takes no snapshot: SET TRANSACTION may still follow.
        self._first("", {})

    def _first(
        self, sql: str, parameters: Mapping[str, object], after: tuple[str, ...] = ()
    ) -> Reply:
        """BEGIN is the probe: without an answer nothing was committed, unless COMMIT went along.

        After a freeze the way may be gone without a word, so it must not wait for long.
        """
        self._has_committed = False
        opening = self._opening()
        if self._may_be_dead:
            self.connection.wait_at_most(_BEGIN_REPLY_S)
        try:
            return self.connection.query_between(
                sql, parameters, before=opening, after=after, when_begun=self._note_begun
            )
        except InvalidInputError:
            raise
        except ContextSearchError:
            if self._has_begun:
                raise
            self.connection.close()
            if not self._may_be_dead:
                raise
        self._may_be_dead = False
        self.connection = self._connect()
        return self._first(sql, parameters, after)

    def _note_begun(self) -> None:
        self._has_begun = True
        self.connection.wait_at_most(self._reply_s)


def _failed() -> StatementRejectedError:
    return StatementRejectedError("a statement failed: rolled back", sqlstate="25P02")
