"""A run that ends in the middle, at any point: the next one goes on, and the result is the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from itertools import groupby
from pathlib import Path

import pytest

from context_search.postgres import migrations
from context_search.postgres.connection import Connection
from context_search.postgres.errors import PostgresUnavailableError
from context_search.postgres.migrations import MigrationError
from context_search.postgres.url import DatabaseUrl
from tests.adopter import ROWS, SCHEMA
from tests.postgres.schema.catalogue import Catalogue, catalogue, run
from tests.stack import DatabaseFactory, eventually

BEGINNINGS = {"empty": ["SELECT"], "an adopter's": [*SCHEMA, *ROWS]}
# Fails the DDL commands with these numbers, counted over all runs: a sequence is not rolled back.
STRIKES = [1, 2, 9, 40, 75, 150, 220, 300, 380, 430, 431]
INTERRUPTIONS = f"""
CREATE SCHEMA interruptions;
CREATE SEQUENCE interruptions.commands;
CREATE FUNCTION interruptions.strike() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('interruptions.commands') IN ({", ".join(map(str, STRIKES))}) THEN
        RAISE EXCEPTION 'interrupted';
    END IF;
END $$;
CREATE EVENT TRIGGER strike ON ddl_command_end EXECUTE FUNCTION interruptions.strike();
"""


# Each try to take a turn spends most of its time in its statement, so that the index always meets
# one: this database finds a slow lock before PostgreSQL's own.
SLOW_LOCKS = (
    "CREATE SCHEMA slow",
    """
    CREATE FUNCTION slow.pg_try_advisory_xact_lock(key bigint) RETURNS boolean LANGUAGE sql
        RETURN (SELECT pg_catalog.pg_try_advisory_xact_lock(key) FROM pg_sleep(0.3))
    """,
    """
    DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET search_path = public, slow, pg_catalog',
                       current_database());
    END $$
    """,
)


class _InterruptedError(Exception):
    pass


@pytest.fixture(params=BEGINNINGS)
def beginning(request: pytest.FixtureRequest) -> list[str]:
    statements: list[str] = BEGINNINGS[request.param]
    return statements


@pytest.fixture
def states(databases: DatabaseFactory, beginning: list[str]) -> list[Catalogue]:
    """The catalogue at the beginning and after each step of a run that nobody interrupts."""
    with databases.empty() as url:
        run(url, *beginning)
        found = [catalogue(url)]

        def report(line: str) -> None:
            if line.startswith("applied") and (now := catalogue(url)) != found[-1]:
                found.append(now)

        migrations.apply(url, report=report)
    return found


@pytest.fixture
def url(databases: DatabaseFactory, beginning: list[str]) -> Iterator[DatabaseUrl]:
    with databases.empty() as made:
        run(made, *beginning)
        yield made


def until_whole(url: DatabaseUrl, report: Callable[[str], None]) -> Iterator[Catalogue]:
    """Runs again and again until nobody interrupts; gives what each interrupted run left."""
    while True:
        try:
            migrations.apply(url, report=report)
        except (_InterruptedError, MigrationError):
            yield catalogue(url)
        else:
            return


def test_a_run_that_ends_after_a_step_goes_on_with_the_next(
    url: DatabaseUrl, states: list[Catalogue]
) -> None:
    def interrupt(line: str) -> None:
        if line.startswith("applied"):
            raise _InterruptedError

    left = list(until_whole(url, interrupt))
    assert [state for state, _ in groupby(left)] == states[1:]
    assert catalogue(url) == states[-1]


def test_a_step_that_fails_at_any_command_leaves_whole_steps(
    url: DatabaseUrl, states: list[Catalogue]
) -> None:
    run(url, INTERRUPTIONS)
    interrupted = 0
    for left in until_whole(url, lambda _: None):
        assert without_indexes(left) in [without_indexes(state) for state in states]
        interrupted += 1
    [[commands]] = run(url, "SELECT last_value FROM interruptions.commands")
    assert isinstance(commands, int)
    assert interrupted == len([strike for strike in STRIKES if strike <= commands]) > 7
    assert without_indexes(catalogue(url)) == without_indexes(states[-1])
    assert catalogue(url)["indexes"] == states[-1]["indexes"]


def without_indexes(state: Catalogue) -> Catalogue:
    """An index that is made beside writers is there before its file is noted as applied."""
    relations = {fact for fact in state["relations"] if fact[1] != "i"}
    kept = {kind: facts for kind, facts in state.items() if kind not in ("indexes", "schemas")}
    return {**kept, "relations": relations}


def test_runs_at_the_same_time_take_turns(url: DatabaseUrl, states: list[Catalogue]) -> None:
    with ThreadPoolExecutor(3) as threads:
        runs = [threads.submit(migrations.apply, url) for _ in range(3)]
        applied = [name for one in runs for name in one.result()]
    assert len(applied) == len(set(applied)) == len(migrations.read(migrations.shipped()))
    assert catalogue(url) == states[-1]


def test_two_releases_at_once_end_with_the_schema_of_the_newer(
    url: DatabaseUrl, states: list[Catalogue], tmp_path: Path
) -> None:
    older = migrations.read(migrations.shipped())[:-3]
    for one in older:
        (tmp_path / one.name).write_text(one.sql)
    with ThreadPoolExecutor(2) as threads:
        newer = threads.submit(migrations.apply, url)
        refused = threads.submit(migrations.apply, url, tmp_path).exception()
        newer.result()
    assert refused is None or "was applied, but this version does not have it" in str(refused)
    assert catalogue(url) == states[-1]


def test_a_run_that_waits_never_holds_up_the_index_that_the_other_makes(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    run(url, *SLOW_LOCKS)
    with ThreadPoolExecutor(3) as threads:
        runs = [threads.submit(migrations.apply, url) for _ in range(3)]
        done, late = wait(runs, timeout=60)
        for pid, _ in waiting(url, "CREATE INDEX CONCURRENTLY"):
            run(url, f"SELECT pg_terminate_backend({pid})")
    assert not late
    assert sorted(len(one.result()) for one in done)[:2] == [0, 0]


def test_a_run_that_is_killed_lets_the_waiting_one_finish(empty_database_url: DatabaseUrl) -> None:
    url = empty_database_url
    with closing(Connection(url, timeout_s=60.0)) as his, ThreadPoolExecutor(1) as threads:
        address = f"postgresql://{url.user}:{url.password}@{url.host}:{url.port}/{url.database}"
        migrate = [sys.executable, "-m", migrations.__name__, "--database-url", address]
        with subprocess.Popen(  # noqa: S603 - our own program
            migrate, stdout=subprocess.PIPE, text=True
        ) as killed:
            assert killed.stdout is not None
            for line in killed.stdout:
                if line.startswith("applied 0008_"):
                    break
            his.query("BEGIN; INSERT INTO context_table (name) VALUES ('not committed')")
            assert eventually(lambda: bool(waiting(url, "CREATE INDEX CONCURRENTLY")))
            second = threads.submit(migrations.apply, url)
            assert eventually(lambda: bool(turns_asked(url)))
            killed.kill()
        his.query("COMMIT")
        assert second.result(60)[0] == "0009_shared_indexes.concurrently.sql"
    assert run(url, "SELECT FROM pg_index WHERE NOT indisvalid") == []


def turns_asked(url: DatabaseUrl) -> list[list[object]]:
    """Connections that asked for the turn last, or gave the try up."""
    return run(
        url,
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND query = 'ROLLBACK'",
    )


def waiting(url: DatabaseUrl, what: str) -> list[list[object]]:
    """Who waits for a lock with such a statement, since when."""
    return run(
        url,
        "SELECT pid, xact_start FROM pg_stat_activity WHERE datname = current_database()"
        f" AND wait_event_type = 'Lock' AND query LIKE '%{what}%'",
    )


def test_an_index_is_made_beside_writers_and_one_that_was_interrupted_is_made_anew(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    with closing(Connection(url, timeout_s=60.0)) as his, ThreadPoolExecutor(1) as threads:

        def write(line: str) -> None:
            if line == "applied 0008_rights.sql":
                his.query("BEGIN; INSERT INTO context_table (name) VALUES ('not committed')")

        running = threads.submit(migrations.apply, url, report=write)
        assert eventually(lambda: bool(waiting(url, "CREATE INDEX CONCURRENTLY")))
        run(url, "SET lock_timeout = '1s'", "INSERT INTO context_table (name) VALUES ('another')")
        [[pid, _]] = waiting(url, "CREATE INDEX CONCURRENTLY")
        run(url, f"SELECT pg_cancel_backend({pid})")
        with pytest.raises(PostgresUnavailableError, match="57014"):
            running.result()
        his.query("COMMIT")
    unfinished = "SELECT FROM pg_index WHERE NOT indisvalid"
    assert len(run(url, unfinished)) == 1
    assert migrations.apply(url)[0] == "0009_shared_indexes.concurrently.sql"
    assert run(url, unfinished) == []


def test_who_holds_a_table_is_waited_for_again_and_again_but_never_for_long(
    empty_database_url: DatabaseUrl,
) -> None:
    url = empty_database_url
    run(url, *SCHEMA, *ROWS)
    attempts: set[str] = set()

    def two_attempts() -> bool:
        attempts.update(str(since) for _, since in waiting(url, "-- Projects, their documents"))
        return len(attempts) == 2

    with closing(Connection(url, timeout_s=60.0)) as his, ThreadPoolExecutor(1) as threads:
        his.query("BEGIN; SELECT FROM context_table")
        running = threads.submit(migrations.apply, url)
        assert eventually(two_attempts)
        his.query("COMMIT")
        assert running.result()
