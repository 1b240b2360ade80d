"""What is asked of 100,000 plans is answered by indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from context_search.catalog.rules.versions import TableHistory
from context_search.core.messages import ExecutePlan
from context_search.maintenance.rules.health import CleanupLimits
from context_search.postgres.pool import Database, Transaction
from context_search.store import PostgresStore, UnitOfWork
from context_search_editing.rules.plans import (
    NewPlan,
    Plan,
    PlannedString,
    PlannedTable,
    ReplaceScope,
)
from tests.builders import Workbench, present
from tests.stack import DatabaseFactory

pytestmark = pytest.mark.slow

# Mostly plans that ended, of 100 projects, with a document of two strings each.
MANY = (
    "INSERT INTO project (name) SELECT 'p' FROM generate_series(1, 100)",
    """
    INSERT INTO context_table (project_id, name, data)
    SELECT 1 + i % 100, 't', '{}' FROM generate_series(1, 500) AS i
    """,
    """
    INSERT INTO replace_plan (project_id, state, scope, request_hmac, engine, created_at,
        expires_at, undo_until, saved_at, texts_until, kept_until)
    SELECT 1 + i % 100, CASE WHEN i % 1000 = 0 THEN 'ready' WHEN i % 2 = 0 THEN 'done'
            ELSE 'expired' END, '{}', '', '', at, at + interval '1 hour',
        CASE WHEN i % 2 = 0 THEN at + interval '30 days' END, at,
        CASE WHEN i > 90000 THEN at + interval '30 days' END, at + interval '365 days'
    FROM generate_series(1, 100000) AS i,
        LATERAL (SELECT now() - make_interval(mins => (100000 - i) * 5)) AS made (at)
    """,
    """
    INSERT INTO replace_table (plan_id, table_id, state, revision_seen, revision_before, bytes,
        matches)
    SELECT id, 1 + id % 500, 'done', 1, id, 1, 2 FROM replace_plan
    """,
    """
    INSERT INTO replace_string
    SELECT id, 1 + id % 500, position, '', 1 + position, 1, '', '', NULL, false, NULL
    FROM replace_plan, generate_series(0, 1) AS position WHERE id > 50000
    """,
    "UPDATE replace_plan SET undoes = id - 1 WHERE id % 20 = 0",
    "ANALYZE",
)
READ = """
    SELECT COALESCE(sum(pg_stat_get_xact_tuples_returned(oid)), 0) FROM pg_class
    WHERE relname IN ('replace_plan', 'replace_table', 'replace_string')
"""
PLAN = 99_990
NEW = NewPlan(7, None, ReplaceScope(), b"", "", 600, actor=None)
STRING = PlannedString(501, 0, "", 1, 1, b"", b"")
ASKED: dict[str, Callable[[UnitOfWork], object]] = {
    "open": lambda work: work.plans.open(7),
    "add": lambda work: work.plans.add(NEW),
    "find": lambda work: work.plans.find(PLAN, project_id=7),
    "lock": lambda work: work.plans.lock(PLAN),
    "page": lambda work: work.plans.page(7, below=None, limit=100),
    "next page": lambda work: work.plans.page(7, below=50_000, limit=100),
    "begin": lambda work: work.plans.begin(replace(added(work), state="executing")),
    "save": lambda work: work.plans.save(added(work)),
    "remove": lambda work: work.plans.remove(PLAN),
    "purge_texts": lambda work: work.plans.purge_texts(PLAN),
    "add_tables": lambda work: work.plans.add_tables(PLAN, [PlannedTable(501, 1, 1, 1)], [STRING]),
    "tables": lambda work: work.plans.tables(PLAN, limit=100),
    "pending": lambda work: work.plans.tables(PLAN, limit=100, state="pending"),
    "lock_table": lambda work: work.plans.lock_table(PLAN, 491),
    "save_tables": lambda work: work.plans.save_tables(PLAN, [PlannedTable(491, 1, 1, 1)]),
    "strings": lambda work: work.plans.strings(PLAN, 491),
    "matches": lambda work: work.plans.strings_of_matches(PLAN, after=1, limit=9),
    "of a table": lambda work: work.plans.strings_of_matches(PLAN, after=1, limit=9, table_id=491),
    "expire": lambda work: work.plans.expire(limit=10),
    "outlived": lambda work: work.plans.outlived(limit=10),
    "purge_strings": lambda work: work.plans.purge_strings(limit=1_000),
    "purgeable": lambda work: work.plans.purgeable(limit=10),
    "silent": lambda work: work.plans.silent(silent_s=0, limit=10),
    "schedule": lambda work: work.health.due_in_s([work.plans], CleanupLimits()),
    "removals": lambda work: work.removals.due(limit=200),
    "expire versions": lambda work: work.versions.expire_oldest(7),
    "prune": lambda work: work.versions.prune(TableHistory(6, 7), limit=100),
    "order": lambda work: work.send(ExecutePlan(PLAN)),
}


def added(work: UnitOfWork) -> Plan:
    return present(work.plans.add(NEW))


def rows_read(tx: Transaction) -> int:
    """How many rows the connection has read without an index, since some time ago."""
    [[number]] = tx.run(READ)
    return int(number)


@pytest.fixture(scope="module")
def database(databases: DatabaseFactory) -> Iterator[Database]:
    with databases.migrated() as url:
        made = Database(url, statement_timeout_ms=60_000)
        with made.transaction() as tx:
            for statement in MANY:
                tx.run(statement)
        yield made
        made.close()


class Enough(Exception):  # noqa: N818 - nothing is wrong
    """Rolls a transaction back."""


@pytest.mark.parametrize("asked", ASKED)
def test_no_row_of_a_plan_is_read_in_vain(database: Database, asked: str) -> None:
    read: list[int] = []

    def ask() -> None:
        with database.transaction() as tx:
            before = rows_read(tx)
            ASKED[asked](UnitOfWork(tx))
            read.append(rows_read(tx) - before)
            raise Enough

    with pytest.raises(Enough):
        ask()
    assert read == [0]


def test_a_query_without_an_index_would_be_seen(database: Database) -> None:
    with database.transaction() as tx:
        before = rows_read(tx)
        tx.run("SELECT count(*) FROM replace_plan WHERE engine = 'none'")
        assert rows_read(tx) - before == 100_000


def test_there_are_plans_of_every_kind(database: Database) -> None:
    bench = Workbench.of(PostgresStore(database))
    counts = bench.sql("SELECT state, count(*) FROM replace_plan GROUP BY 1 ORDER BY 1")
    assert [state for state, _ in counts] == ["done", "expired", "ready"]
