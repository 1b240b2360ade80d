"""The statements of one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_search.adapters.postgres.errors import PostgresUnavailableError
from context_search.adapters.postgres.parameters import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from context_search.adapters.postgres.line import Line
    from context_search.ports.time import Deadline

REPLY_MARGIN_S = 2.0
"""The server stops a statement itself, and this long its word is waited for."""
BATCH_ROWS = 2_000
BATCH_BYTES = 8 * 1024 * 1024


class Transaction:
    """Runs statements until its block ends, then refuses. For the thread that opened it.

    BEGIN goes with the first statement, in one round trip. Errors are those of
    ``Connection.query``. After StatementRejectedError the transaction has failed as a whole: let
    the error leave the block. After ``deadline`` each statement is PostgresUnavailableError.
    """

    def __init__(self, line: Line, deadline: Deadline | None = None) -> None:
        self._line: Line | None = line
        self._deadline = deadline

    def run(self, sql: str, /, **parameters: object) -> list[list[Any]]:
        """Returns the rows; ``:name`` in ``sql`` stands for the parameter ``name``."""
        return self._open_line().query(sql, parameters).rows

    def execute(self, sql: str, /, **parameters: object) -> int:
        """Returns how many rows an INSERT, UPDATE, DELETE or SELECT touched."""
        return self._open_line().query(sql, parameters).row_count

    def run_and_commit(self, sql: str, /, **parameters: object) -> list[list[Any]]:
        """The same as ``run``, and commits with it: a transaction in one round trip.

        Nothing else may have run in the transaction; what follows is in another one. The statement
        has to bear being run twice: it is when a reused connection breaks before it answers.
        """
        return self._open_line().query_and_commit(sql, parameters).rows

    def end(self) -> None:
        """Refuses every further statement; the connection belongs to somebody else from now on."""
        self._line = None

    def _open_line(self) -> Line:
        if self._line is None:
            raise RuntimeError("the transaction has ended")
        if self._deadline is not None:
            left_s = self._deadline.left_s()
            if not left_s:
                raise PostgresUnavailableError("no time is left for another statement")
            self._line.wait_at_most(left_s + REPLY_MARGIN_S)
        return self._line


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
