"""Transactions over as many guarded connections as there are threads that need one."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from context_search.core.errors import (
    CommitUnknownError,
    ContextSearchError,
    DatabaseUnavailableError,
    InvalidDocumentError,
    InvalidInputError,
)
from context_search.integrations.ports import Deadline
from context_search.postgres.connection import Connection, Reply
from context_search.postgres.errors import (
    PostgresUnavailableError,
    StatementRejectedError,
)
from context_search.postgres.limits import Limits
from context_search.postgres.session import Statement, Statements
from context_search.postgres.url import DatabaseUrl

_BEGIN_REPLY_S = 2.0
_INVALID_AUTHORIZATION = "28"  # a class of SQLSTATE: unknown role, wrong password

BATCH_ROWS = 2_000
BATCH_BYTES = 8 * 1024 * 1024
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_WRITES = re.compile(
    r"(?<!FOR )(?<!FOR NO KEY )\b(?:INSERT|UPDATE|DELETE|MERGE|TRUNCATE|COPY|CALL|DO|CREATE|ALTER"
    r"|DROP|GRANT|REVOKE|note_\w+|mend_\w+)\b"
)
"""Words that every statement of ours has that changes something; functions that do are named so."""
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


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
        connect_timeout_s: float = 5.0,
        application_name: str = "context-search",
        instead_of: Callable[[DatabaseUrl], DatabaseUrl | None] = lambda _: None,
    ) -> None:
        """``acquire_timeout_s`` is how long a thread waits for one of ``max_connections``.

        ``connect_timeout_s`` bounds each step of a new connection.
        A timeout of 0 milliseconds means none. ``instead_of`` tells which URL has taken the place
        of one that was refused, if one has.
        """
        self._url = url
        self._instead_of = instead_of
        self._statement_timeout_ms = statement_timeout_ms
        self._lock_timeout_ms = lock_timeout_ms
        self._acquire_timeout_s = acquire_timeout_s
        self._connect_timeout_s = connect_timeout_s
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
        limits = Limits(limit_ms, self._lock_timeout_ms, project_id, deadline)
        with self._permit(deadline):
            limits.check()
            tx = Transaction(self._idle_one(), partial(self._connect, deadline), limits)
            self._thread.is_busy = True
            try:
                yield tx
                tx.commit()
            finally:
                self._thread.is_busy = False
                self._give_back(tx.end())

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
        timeout_s = _at_most(self._connect_timeout_s, deadline)
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


class Transaction:
    """Runs statements until its block ends, then refuses. For the thread that opened it.

    BEGIN goes with the first statement, in one round trip, and replaces a connection that was used
    before and has died. Errors are those of ``Connection.query``. After StatementRejectedError the
    transaction has failed as a whole: let the error leave the block. After the deadline each
    statement is PostgresUnavailableError.
    """

    def __init__(
        self, idle: Connection | None, connect: Callable[[], Connection], limits: Limits
    ) -> None:
        self._connection = idle or connect()
        self._may_be_dead = idle is not None
        self._connect = connect
        self._limits = limits
        self._is_open = True
        self._has_begun = self._has_committed = self._has_written = False
        self._queued: list[Statement] = []

    @property
    def path(self) -> tuple[str, ...]:
        """The schemas that a program of this role finds tables in, in order: not ours."""
        return self._connection.path

    def run(self, sql: str, /, **parameters: object) -> list[list[Any]]:
        """Returns the rows; ``:name`` in ``sql`` stands for the parameter ``name``."""
        return self._query(sql, parameters).rows

    def execute(self, sql: str, /, **parameters: object) -> int:
        """Returns how many rows an INSERT, UPDATE, DELETE or SELECT touched."""
        return self._query(sql, parameters).row_count

    def run_and_commit(self, sql: str, /, **parameters: object) -> list[list[Any]]:
        """Does what ``run`` does in a transaction of its own, in one round trip.

        See ``run_all_and_commit``.
        """
        return self.run_all_and_commit([(sql, parameters)])[0]

    def run_all_and_commit(self, statements: Statements) -> list[list[list[Any]]]:
        """Runs statements as a transaction of its own, in one round trip; returns the rows of each.

        Nothing else may have run in the transaction; what follows is in another one. The statements
        have to bear being run twice: they are when a reused connection breaks before it answers.
        None but the last may have large parameters or large rows: nobody reads while it is sent.
        """
        self._check_open()
        if self._has_begun:
            raise RuntimeError("the transaction has begun")
        queued, self._queued = self._queued, []
        replies = self._first([*queued, *statements], is_all=True)
        self._has_begun, self._has_committed = False, True
        return [reply.rows for reply in replies[len(queued) :]]

    def queue(self, sql: str, /, **parameters: object) -> None:
        """Sends a statement with the next one, or with COMMIT; it may have no rows."""
        self._check_open()
        self._has_written = self._has_written or may_write(sql)
        self._queued.append((sql, parameters))

    def commit(self) -> None:
        """Commits what has run. Where nothing has, it asks the server at least whether it is there.

        Raises CommitUnknownError when the reply got lost, if anything may have been changed; any
        other error means that nothing was.
        """
        if self._queued and not self._has_begun:
            self.run_all_and_commit([])
        elif self._queued:
            self._query("", {})
        self._is_open = False
        if self._has_committed:
            return
        if not self._has_begun:
            self._begin()
        status = self._connection.transaction_status
        if not status:
            raise PostgresUnavailableError("the connection was lost in the transaction")
        if status != "T":
            # Postgres would answer COMMIT with a quiet ROLLBACK.
            raise _failed()
        try:
            self._connection.query("COMMIT")
        except DatabaseUnavailableError:
            if self._connection.is_healthy or not self._has_written:
                raise
            raise CommitUnknownError("the reply to COMMIT got lost") from None

    def end(self) -> Connection:
        """Refuses every further statement; the connection belongs to somebody else from now on."""
        self._is_open = False
        return self._connection

    def _query(self, sql: str, parameters: Mapping[str, object]) -> Reply:
        self._check_open()
        self._has_written = self._has_written or may_write(sql)
        if not self._has_begun:
            if parameters or self._queued:
                return self._first([(sql, parameters)])[0]
            self._begin()
        if self._connection.transaction_status == "I":
            # A COMMIT that was sent along has failed. Without a transaction the statement would
            # run without its limits and its project, and stay.
            raise _failed()
        self._connection.wait_at_most(self._limits.reply_s())
        if self._queued:
            queued, self._queued = self._queued, []
            return self._connection.exchange([(sql, parameters)], before=queued)[0]
        return self._connection.query(sql, parameters)

    def _check_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("the transaction has ended")
        self._limits.check()

    def _begin(self) -> None:
        # An empty statement takes no snapshot: SET TRANSACTION may still follow.
        self._first([("", {})])

    def _first(self, statements: Statements, *, is_all: bool = False) -> list[Reply]:
        """The first reply is the probe: without it nothing was committed, unless that is all.

        After a freeze the way may be gone without a word, so it must not wait for long.
        """
        self._has_committed = False
        path = self._connection.path
        settings = self._limits.settings(path) if is_all else self._limits.opening(path)
        before = [*settings, *self._queued]
        reply_s = self._limits.reply_s()
        if self._may_be_dead:
            self._connection.wait_at_most(_BEGIN_REPLY_S)

        def begun() -> None:
            self._has_begun = True
            self._connection.wait_at_most(reply_s)

        try:
            replies = self._connection.exchange(statements, before=before, when_begun=begun)
            self._queued = []
            return replies
        except InvalidInputError:
            raise
        except ContextSearchError:
            if self._has_begun:
                raise
            self._connection.close()
            if not self._may_be_dead:
                raise
        self._may_be_dead = False
        self._connection = self._connect()
        return self._first(statements, is_all=is_all)


@lru_cache(maxsize=512)
def may_write(sql: str) -> bool:
    """Says whether a statement may change something; one that only locks rows does not."""
    return _WRITES.search(sql) is not None


def _failed() -> StatementRejectedError:
    return StatementRejectedError("a statement failed: rolled back", sqlstate="25P02")


def bulk(
    tx: Transaction, sql: str, rows: Iterable[Mapping[str, object]], **parameters: object
) -> list[list[Any]]:
    """Runs ``sql`` for many rows and returns what RETURNING gave, in the order of the rows.

    ``sql`` reads ``jsonb_to_recordset(CAST(:rows AS jsonb))``. It runs once for at most 2,000 rows
    and 8 MiB of JSON (a single row may be larger), each time with one text parameter: ten times
    faster than a statement per row. ``parameters`` go with every batch.
    Raises what ``json_text`` and ``Transaction.run`` raise.
    """
    returned: list[list[Any]] = []
    for batch in _batches(rows):
        returned += tx.run(sql, rows=batch, **parameters)
    return returned


def _batches(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    batch: list[str] = []
    size = 0
    for row in rows:
        text = json_text(row)
        # Lone surrogates are counted here and refused when the batch is sent.
        length = len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        if batch and (len(batch) == BATCH_ROWS or size + length > BATCH_BYTES):
            yield f"[{','.join(batch)}]"
            batch, size = [], 0
        batch.append(text)
        size += length + 1
    if batch:
        yield f"[{','.join(batch)}]"


def json_text(value: object) -> str:
    """Returns compact JSON for a ``json`` or ``jsonb`` parameter.

    Raises InvalidDocumentError for NUL, NaN, infinity, integers of more than 4,300 digits and
    nesting beyond the interpreter's limit. Lone surrogates are found when the text is sent.
    """
    try:
        text = _ENCODER.encode(value)
    except (ValueError, RecursionError):
        raise InvalidDocumentError("a value cannot be written as JSON") from None
    if "\\u0000" in text and _ESCAPED_NUL.search(text):
        raise InvalidDocumentError("a JSON string holds the character U+0000")
    return text
