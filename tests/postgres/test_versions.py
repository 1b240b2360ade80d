"""Versions in Postgres: exact texts, locks, other programs, and what a killed writer leaves."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.pieces import cut, packed
from context_search.catalog.rules.versions import (
    Content,
    HistoryLimits,
    Origin,
    Pruned,
    TableHistory,
)
from context_search.catalog.tables import ManageTables
from context_search.catalog.versions import ManageVersions, find_version, text_of
from context_search.core.errors import (
    CommitUnknownError,
    ContextSearchError,
    DocumentTooLargeError,
)
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench
from tests.profile import examples
from tests.system import prose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_search.core.model import Table
    from context_search.postgres.url import DatabaseUrl


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


@pytest.fixture
def hasty(module_url: DatabaseUrl) -> Iterator[PostgresStore]:
    """Somebody else, who waits for locks for 0.2 seconds."""
    database = Database(module_url, lock_timeout_ms=200)
    yield PostgresStore(database)
    database.close()


WAITING = """
    SELECT FROM pg_stat_activity WHERE datname = current_database()
      AND wait_event_type = 'Lock' AND query LIKE '%UPDATE table_history SET due_at%'
"""


def history_of(table: Table) -> TableHistory:
    return TableHistory(table.id, table.project_id)


def text_at(bench: Workbench, table: Table, revision: int) -> str:
    with bench.store.for_project(table.project_id) as work:
        live = work.tables.find(table.id, project_id=table.project_id)
        assert live is not None
        return text_of(work, live, find_version(work, live, revision), max_bytes=10**9)


NUMBERS = st.sampled_from(
    ["0", "-0.0", "1.10", "1e-400", "12345678901234567890.000", "1E+300", "9" * 5_000]
)
STRINGS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30
).map(lambda text: json.dumps(text, ensure_ascii=False))
TEXTS = st.recursive(
    NUMBERS | STRINGS | st.sampled_from(["null", "true", "false"]),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda parts: f"[{','.join(parts)}]")
        | st.dictionaries(STRINGS, inner, max_size=4).map(
            lambda parts: "{" + ",".join(f"{name}: {value}" for name, value in parts.items()) + "}"
        )
    ),
    max_leaves=12,
)


@given(st.lists(TEXTS, min_size=2, max_size=4))
@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_every_version_is_the_canonical_text_and_restores_to_it(
    bench: Workbench, documents: list[str]
) -> None:
    versions = ManageVersions(bench.store)
    table = bench.table(None)
    written: dict[int, str] = {}
    for text in documents:
        with bench.store.for_project(table.project_id) as work:
            before = work.versions.overwritten(
                table.id, project_id=table.project_id, max_bytes=10**9
            )
            changed = work.tables.replace(table.id, text, expected_revision=None)
            assert changed is not None
            versions.recorder.record(work, changed, before)
            written[changed.revision] = work.tables.read(table.id)[1]
    for revision, text in written.items():
        assert text_at(bench, table, revision) == text
        versions.restore(bench.principal, table.id, revision)
        assert bench.work.tables.read(table.id)[1] == text


def test_two_writers_at_once_record_everything(bench: Workbench) -> None:
    """Each version that was overwritten is what somebody wrote, and none is missing."""
    table = bench.table("first")
    tables = ManageTables(bench.store)

    def write(name: str) -> dict[int, str]:
        done = {}
        for number in range(12):
            text = f"{name} {number} " + prose(40_000, number)
            done[tables.replace(bench.principal, table.id, text).revision] = text
        return done

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(write, ["one", "other"])
    written = {1: "first", **one, **other}
    assert sorted(written) == [*range(1, 26)]
    for revision, text in written.items():
        assert json.loads(text_at(bench, table, revision)) == text


def kill_idle_transactions(bench: Workbench) -> None:
    bench.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE state = 'idle in transaction' AND pid <> pg_backend_pid()"
        "   AND datname = current_database()"
    )


def test_what_a_killed_writer_had_recorded_is_not_there(
    bench: Workbench, hasty: PostgresStore
) -> None:
    table = bench.table(prose(100_000))

    def write_and_die() -> None:
        with hasty.for_project(table.project_id) as work:
            before = work.versions.overwritten(
                table.id, project_id=table.project_id, max_bytes=10**9
            )
            put = Origin("put")
            changed = work.tables.replace(table.id, "1", expected_revision=None, origin=put)
            assert changed is not None
            ManageVersions(hasty).recorder.record(work, changed, before)
            with ThreadPoolExecutor(1) as other:
                other.submit(kill_idle_transactions, bench).result()

    with pytest.raises(CommitUnknownError):
        write_and_die()
    assert bench.sql("SELECT FROM version_piece WHERE table_id = :id", id=table.id) == []
    found = bench.sql(
        "SELECT revision, sha256 FROM table_version WHERE table_id = :id", id=table.id
    )
    assert found == [[1, None]]
    assert bench.work.tables.read(table.id)[0] == 1


def test_pieces_are_not_collected_while_somebody_records(
    bench: Workbench, hasty: PostgresStore
) -> None:
    """A piece that is there when a writer looks is there when he has committed."""
    table = bench.table(prose(100_000))
    tables = ManageTables(bench.store)
    tables.replace(bench.principal, table.id, "now")
    ManageVersions(bench.store).erase_all(bench.principal, table.id)
    text = cut(json.dumps(prose(100_000)))
    with bench.store.for_project(table.project_id) as work:
        work.tables.replace(table.id, "3", expected_revision=None)
        assert work.versions.missing(table, list(text.pieces)) == set()
        with ThreadPoolExecutor(1) as other:
            assert other.submit(prune, hasty, table).result() == Pruned()
        work.versions.record(table, 1, text.content, [])
    assert prune(hasty, table).pieces == 0
    assert json.loads(text_at(bench, table, 1)) == prose(100_000)


def prune(store: PostgresStore, table: Table) -> Pruned:
    with store.for_all("test") as work:
        return work.versions.prune(history_of(table), limit=1_000)


def test_pieces_are_collected_of_a_table_that_somebody_has_locked(
    bench: Workbench, hasty: PostgresStore
) -> None:
    """He may need the history next: who waited for him with that in hand would never end."""
    table = bench.table(prose(100_000))
    ManageTables(bench.store).replace(bench.principal, table.id, "now")
    ManageVersions(bench.store).erase_all(bench.principal, table.id)
    pieces = len(cut(json.dumps(prose(100_000))).pieces)
    with bench.tx() as tx:
        tx.run("SELECT FROM context_table WHERE id = :id FOR UPDATE", id=table.id)
        with ThreadPoolExecutor(1) as other:
            assert other.submit(prune, hasty, table).result().pieces == pieces


def test_a_writer_waits_until_pieces_are_collected_and_then_misses_them(
    bench: Workbench, hasty: PostgresStore
) -> None:
    table = bench.table(prose(100_000))
    ManageTables(bench.store).replace(bench.principal, table.id, "now")
    ManageVersions(bench.store).erase_all(bench.principal, table.id)
    names = list(cut(json.dumps(prose(100_000))).pieces)
    looked = threading.Event()

    def missing() -> set[bytes]:
        with bench.store.for_project(table.project_id) as work:
            looked.set()
            work.tables.replace(table.id, "3", expected_revision=None)
            return work.versions.missing(table, names)

    with ThreadPoolExecutor(1) as other:
        with hasty.for_all("test") as work:
            assert work.versions.prune(history_of(table), limit=1_000).pieces == len(names)
            seen = other.submit(missing)
            looked.wait()
        assert seen.result() == set(names)


def test_a_change_of_settings_locks_histories_in_the_order_of_their_tables(
    bench: Workbench,
) -> None:
    """As plans of several documents do."""
    first = bench.table(1)
    with bench.store.for_project(first.project_id) as work:
        others = [work.tables.add(first.project_id, "t", None, "1") for _ in range(20)]
    mine = {"project": first.project_id}
    bench.sql("DELETE FROM table_history WHERE project_id = :project", **mine)
    bench.sql(
        "INSERT INTO table_history (table_id, project_id) SELECT id, project_id"
        " FROM context_table WHERE project_id = :project ORDER BY id DESC",
        **mine,
    )

    def write() -> None:
        with bench.store.for_project(first.project_id) as work:
            work.versions.look_at_all(first.project_id)

    lock = "SELECT FROM table_history WHERE table_id = :id FOR UPDATE NOWAIT"
    with ThreadPoolExecutor(1) as other:
        with bench.tx() as tx:
            tx.run(lock, id=first.id)
            writing = other.submit(write)
            while not tx.run(WAITING):
                assert not writing.done()
                tx.run("SELECT pg_stat_clear_snapshot()")
            assert all(tx.run(lock, id=table.id) for table in others)
        writing.result()


def test_a_history_that_is_held_makes_a_writer_fail_whole_and_not_wait_for_ever(
    bench: Workbench, hasty: PostgresStore
) -> None:
    table = bench.table(1)
    with bench.tx() as tx:
        tx.run("SELECT FROM table_history WHERE table_id = :id FOR UPDATE", id=table.id)
        with ThreadPoolExecutor(1) as other:
            writing = other.submit(ManageTables(hasty).replace, bench.principal, table.id, 2)
            with pytest.raises(ContextSearchError) as refused:
                writing.result()
    assert refused.value.retryable
    assert text_at(bench, table, 1) == "1"


def test_a_program_that_sets_a_revision_back_begins_it_anew(bench: Workbench) -> None:
    table = bench.table("one")
    tables = ManageTables(bench.store)
    tables.replace(bench.principal, table.id, "two")
    bench.sql("UPDATE context_table SET revision = 1 WHERE id = :id", id=table.id)
    with bench.store.for_all("test") as work:
        live = work.tables.find(table.id, project_id=table.project_id)
        assert live is not None
        found = find_version(work, live, 1)
    assert (found.is_live, found.cause, found.sha256) == (True, "sql", None)
    tables.replace(bench.principal, table.id, "three")
    assert text_at(bench, table, 1) == '"two"'


def test_a_trigger_of_the_owner_never_borrows_our_origin(bench: Workbench) -> None:
    one, other = bench.table(1), bench.table(1)
    bench.sql(
        f"""
        CREATE FUNCTION public.follow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE public.context_table SET data = NEW.data WHERE id = {other.id};
            RETURN NULL;
        END $$
        """
    )
    bench.sql(
        f"""
        CREATE TRIGGER follow AFTER UPDATE OF data ON public.context_table FOR EACH ROW
        WHEN (NEW.id = {one.id}) EXECUTE FUNCTION public.follow()
        """
    )
    try:
        ManageTables(bench.store).replace(bench.principal, one.id, 2)
    finally:
        bench.sql("DROP FUNCTION public.follow CASCADE")
    causes = bench.sql(
        "SELECT table_id, cause FROM table_version WHERE revision = 2 AND table_id IN (:a, :b)",
        a=one.id,
        b=other.id,
    )
    assert sorted(causes) == [[one.id, "put"], [other.id, "sql"]]


def test_a_row_of_nobody_has_no_history(bench: Workbench) -> None:
    [[table_id]] = bench.sql("INSERT INTO context_table (data) VALUES ('1') RETURNING id")
    bench.sql("UPDATE context_table SET data = '2' WHERE id = :id", id=table_id)
    assert bench.sql("SELECT FROM table_version WHERE table_id = :id", id=table_id) == []


@pytest.mark.parametrize(("number", "count"), [("1e-16000", 17_000), ("1e131071", 2_100)])
def test_a_document_of_padded_numbers_is_a_gap_and_no_error(
    bench: Workbench, number: str, count: int
) -> None:
    table = bench.table(1)
    bench.sql(
        """
        UPDATE context_table SET data = (
            SELECT jsonb_agg(CAST(CAST(:number AS text) AS numeric))
            FROM generate_series(1, CAST(:count AS int)))
        WHERE id = :id
        """,
        id=table.id,
        number=number,
        count=count,
    )
    with bench.store.for_all("test") as work, pytest.raises(DocumentTooLargeError):
        work.tables.read(table.id)
    ManageTables(bench.store).replace(bench.principal, table.id, 3)
    found = ManageVersions(bench.store).read(bench.principal, table.id, 2)
    assert found.gap == "too_large"


def test_deleting_a_project_by_sql_takes_its_past_along(bench: Workbench) -> None:
    table = bench.table(prose(100_000))
    ManageTables(bench.store).replace(bench.principal, table.id, "now")
    with bench.store.for_all("test") as work:
        work.project_settings.lock(HistoryLimits, table.project_id)
        work.project_settings.write(table.project_id, HistoryLimits(keep_days=1))
    bench.sql("DELETE FROM project WHERE id = :id", id=table.project_id)
    for name in ("table_version", "version_piece", "table_history", "project_settings"):
        rows = bench.sql(f"SELECT FROM {name} WHERE project_id = :id", id=table.project_id)
        assert rows == []


def test_thousands_of_pieces_are_stored_and_read_in_batches(bench: Workbench) -> None:
    table = bench.table(1)
    pieces = {
        bytes([n // 256, n % 256]) * 16: packed(memoryview(bytes(9_000))) for n in range(3_000)
    }
    with bench.store.for_project(table.project_id) as work:
        assert work.versions.missing(table, list(pieces)) == pieces.keys()
        work.versions.record(table, 1, Content(1, b"", tuple(pieces)), pieces.items())
        used = work.versions.overwritten(
            table.id, project_id=table.project_id, max_bytes=0
        ).used_bytes
    assert used == sum(map(len, pieces.values()))
