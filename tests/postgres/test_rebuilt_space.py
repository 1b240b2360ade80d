"""What Postgres keeps when an index is rebuilt again and again: two generations, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from context_search.core.callers import Internal
from context_search.postgres.connection import Connection
from context_search.postgres.url import DatabaseUrl
from tests.builders import english

if TYPE_CHECKING:
    from testing.one_process import OneProcess

STRINGS = 300
BYTES = """
    SELECT CAST(sum(pg_total_relation_size(oid)) AS bigint) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = CAST('context_search' AS regnamespace)
"""


def ask(parts: OneProcess, statement: str) -> Any:
    """The only value of a statement."""
    with parts.postgres.database.transaction() as tx:
        [[value]] = tx.run(statement)
    return value


def vacuum(parts: OneProcess) -> None:
    """Does what autovacuum does when it comes by."""
    connection = Connection(DatabaseUrl.parse(parts.settings.database_url))
    connection.query("VACUUM")
    connection.close()


def rebuilt(parts: OneProcess, tool_id: int) -> int:
    """Rebuilds, with a run of cleanup before and after; returns the bytes of all tables."""
    parts.use_cases.rebuilds.start(tool_id, Internal())
    for _ in range(2):
        parts.clean()
        vacuum(parts)
        assert ask(parts, "SELECT count(DISTINCT generation_id) FROM node") <= 2
        assert ask(parts, "SELECT count(*) FROM tombstone") == 0
    assert ask(parts, "SELECT count(*) FROM index_generation WHERE state = 'previous'") == 1
    return int(ask(parts, BYTES))


@pytest.mark.slow
def test_a_later_rebuild_takes_no_more_space_than_the_second(one_process: OneProcess) -> None:
    texts = {str(number): english(400, number) for number in range(STRINGS)}
    [tool_id] = one_process.ready_tools(one_process.table(texts), [""])
    _, second, *_, last = [rebuilt(one_process, tool_id) for _ in range(6)]
    assert last <= 1.05 * second, (second, last)
