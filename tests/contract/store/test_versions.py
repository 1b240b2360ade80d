"""Versions of tables: what is recorded, read, labelled, erased and pruned."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.pieces import cut, joined, packed
from context_search.catalog.rules.versions import (
    MAX_LABELS,
    Content,
    HistoryLimits,
    Origin,
    Overwritten,
    Pruned,
    TableHistory,
    Version,
)
from context_search.catalog.tables import ManageTables
from context_search.catalog.versions import ManageVersions, find_version, text_of
from context_search.core.errors import DocumentTooLargeError, NotFoundError
from context_search.core.model import Table
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore, UnitOfWork
from context_search_editing.rules.plans import Plan, PlannedTable
from tests.builders import present
from tests.contract.store.bench import Bench, PostgresBench, only_postgres
from tests.contract.store.planned import added, saved, undo_of
from tests.profile import examples
from tests.system import prose

PUT = Origin("put", "key:7", "a-request")
LONG = [f"A sentence that is not like the others, number {number}." for number in range(9_000)]


def write(bench: Bench, table: Table, text: str, *, by: Origin = PUT) -> Table:
    """Writes a document as our API does: what it overwrites is recorded."""
    with bench.store.for_all("test") as work:
        before = work.versions.overwritten(table.id, project_id=table.project_id, max_bytes=10**9)
        changed = present(work.tables.replace(table.id, text, expected_revision=None, origin=by))
        if before.text is not None:
            record(work, changed, before.revision, before.text)
        return changed


def record(work: UnitOfWork, table: Table, revision: int, text: str) -> None:
    """Records a text as the content of a revision."""
    pieces = cut(text)
    missing = work.versions.missing(table, list(pieces.pieces))
    new = [(name, packed(piece)) for name, piece in pieces.pieces.items() if name in missing]
    work.versions.record(table, revision, pieces.content, new)


def versions(bench: Bench, table: Table) -> list[Version]:
    """Returns all versions, the newest first."""
    return bench.work.versions.page(table, below=None, limit=1_000)


def read(bench: Bench, table: Table, revision: int) -> str:
    """Returns the text of a recorded version."""
    version = present(bench.work.versions.find(table, revision))
    assert version.sha256 is not None
    return joined(bench.work.versions.pieces(table, revision, first=0, count=1_000), version.sha256)


def prune(bench: Bench, limit: int = 1_000) -> Pruned:
    """Prunes every history that is due once."""
    pruned = [
        bench.work.versions.prune(each, limit=limit) for each in bench.work.versions.due(limit=99)
    ]
    return Pruned(
        sum(each.versions for each in pruned),
        sum(each.pieces for each in pruned),
        all(each.is_done for each in pruned),
    )


def keep(bench: Bench, project_id: int, **settings: int) -> None:
    """Changes how much is kept."""
    with bench.store.for_all("test") as work:
        stored = work.projects.lock_settings(HistoryLimits, project_id)
        work.projects.write_settings(project_id, HistoryLimits(**settings))
        assert work.projects.settings(HistoryLimits, project_id).version == stored.version + 1


def pieces_of(bench: Bench, table: Table) -> int:
    """Returns how many bytes the pieces of a project take."""
    return bench.work.versions.overwritten(
        table.id, project_id=table.project_id, max_bytes=0
    ).used_bytes


def test_every_revision_has_a_version_that_says_where_it_comes_from(bench: Bench) -> None:
    project = bench.work.projects.add("p")
    created = Origin("create", "key:1", "first")
    table = bench.work.tables.add(project.id, "t", None, "{}", origin=created)
    changed = bench.change(write(bench, table, '{"a": 1}'), {"a": 2})
    found = versions(bench, changed)
    assert [(v.revision, v.cause, v.actor, v.request_id) for v in found] == [
        (3, "sql", None, None),
        (2, "put", "key:7", "a-request"),
        (1, "create", "key:1", "first"),
    ]
    assert [v.is_live for v in found] == [True, False, False]
    assert [v.gap for v in found] == [None, "overwritten_by_sql", None]
    assert all(v.created_at is not None for v in found)
    assert [v.overwritten_at is None for v in found] == [True, True, False]


def test_a_write_that_changes_nothing_is_no_version(bench: Bench) -> None:
    table = bench.table({"a": 1})
    bench.work.tables.replace(table.id, '{"a":1.0}', expected_revision=None, origin=PUT)
    assert [v.cause for v in versions(bench, table)] == ["sql"]


def test_an_origin_is_that_of_one_table(bench: Bench) -> None:
    one, other = bench.table({}), bench.table({})
    bench.work.tables.replace(one.id, "1", expected_revision=None, origin=PUT)
    bench.work.tables.replace(other.id, "2", expected_revision=None)
    assert [v.cause for v in versions(bench, other)] == ["sql", "sql"]


def test_what_is_overwritten_is_there_byte_for_byte(bench: Bench) -> None:
    table = bench.table(LONG)
    text = bench.work.tables.read(table.id)[1]
    changed = write(bench, table, "[]")
    [live, version] = versions(bench, changed)
    assert live.is_live
    assert version.size == len(text.encode())
    assert version.sha256 == hashlib.sha256(text.encode()).digest()
    assert read(bench, changed, 1) == text


def test_pieces_are_stored_once_for_all_versions_of_a_table(bench: Bench) -> None:
    table = bench.table(LONG)
    table = write(bench, table, '"another"')
    first = pieces_of(bench, table)
    with bench.store.for_all("test") as work:
        version = present(work.versions.find(table, 1))
        assert version.sha256
        long = cut(joined(work.versions.pieces(table, 1, first=0, count=99), version.sha256))
        assert work.versions.missing(table, list(long.pieces)) == set()
        assert work.versions.missing(table, [b"x" * 32]) == {b"x" * 32}
        again = [(name, b"not this") for name in long.pieces]
        work.versions.record(table, 1, long.content, again)
    assert pieces_of(bench, table) == first


def test_another_table_shares_no_piece(bench: Bench) -> None:
    project = bench.project()
    table = write(bench, bench.table(LONG, project), "1")
    other = bench.table(LONG, project)
    names = list(cut(bench.work.tables.read(other.id)[1]).pieces)
    assert bench.work.versions.missing(other, names) == set(names)
    assert pieces_of(bench, other) == pieces_of(bench, table) > 0


def test_the_document_before_a_change_is_measured_and_locked(bench: Bench) -> None:
    table = bench.table({"a": "x" * 100})

    def before(max_bytes: int) -> Overwritten:
        return bench.work.versions.overwritten(
            table.id, project_id=table.project_id, max_bytes=max_bytes
        )

    small, whole = before(20), before(1_000)
    assert (small.revision, small.text, small.used_bytes) == (1, None, 0)
    assert small.settings == HistoryLimits()
    assert whole.text is not None
    assert "x" * 100 in whole.text
    keep(bench, table.project_id, keep_count=0)
    assert before(1_000).text is None


def test_a_table_that_is_gone_has_nothing_to_overwrite(bench: Bench) -> None:
    table, other = bench.table({}), bench.table({})

    def refused(project_id: int) -> None:
        with pytest.raises(NotFoundError), bench.store.for_all("test") as work:
            work.versions.overwritten(table.id, project_id=project_id, max_bytes=1_000)

    refused(other.project_id)
    bench.delete(table)
    refused(table.project_id)
    [removal] = bench.work.removals.due(limit=1)
    assert bench.work.removals.remove(removal) == "removed"
    refused(table.project_id)


def test_a_gap_has_its_reason_until_the_revision_is_recorded(bench: Bench) -> None:
    table = bench.change(bench.table({}), {"a": 1})
    bench.work.versions.note_gap(table, 1, "too_large")
    assert [v.gap for v in versions(bench, table)] == [None, "too_large"]
    with bench.store.for_all("test") as work:
        record(work, table, 1, "{}")
    assert [v.gap for v in versions(bench, table)] == [None, None]


def test_pages_go_on_below_a_revision(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 6):
        table = bench.change(table, number)
    first = bench.work.versions.page(table, below=None, limit=4)
    rest = bench.work.versions.page(table, below=first[-1].revision, limit=4)
    assert bench.work.versions.find(table, 9) is None
    assert [v.revision for v in first + rest] == [6, 5, 4, 3, 2, 1]


def test_another_project_sees_no_version_of_a_table_that_moves_to_it(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), "1")
    to = bench.project()
    bench.move(table, to.id)
    moved = present(bench.work.tables.find(table.id, project_id=to.id))
    assert bench.work.versions.find(moved, 1) is None
    assert bench.work.versions.pieces(moved, 1, first=0, count=9) == []
    again = write(bench, moved, '"after"')
    assert [(v.revision, v.cause) for v in versions(bench, again)] == [(3, "put"), (2, None)]
    assert read(bench, again, 2) == "1"


def test_an_origin_ends_with_its_transaction(bench: Bench) -> None:
    table = bench.table(0)

    def interrupted() -> None:
        with bench.store.for_all("test") as work:
            work.tables.replace(table.id, "1", expected_revision=None, origin=PUT)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    bench.change(table, 2)
    assert [v.cause for v in versions(bench, table)] == ["sql", "sql"]


@pytest.fixture
def hasty(module_url: DatabaseUrl) -> Iterator[PostgresStore]:
    """Somebody else, who waits for locks for 0.2 seconds."""
    database = Database(module_url, lock_timeout_ms=200)
    yield PostgresStore(database)
    database.close()


def history_of(table: Table) -> TableHistory:
    return TableHistory(table.id, table.project_id)


def text_at(bench: PostgresBench, table: Table, revision: int) -> str:
    with bench.store.for_project(table.project_id) as work:
        live = present(work.tables.find(table.id, project_id=table.project_id))
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


@only_postgres
@given(st.lists(TEXTS, min_size=2, max_size=4))
@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_every_version_is_the_canonical_text_and_restores_to_it(
    bench: PostgresBench, documents: list[str]
) -> None:
    versions = ManageVersions(bench.store)
    table = bench.table(None)
    written: dict[int, str] = {}
    for text in documents:
        with bench.store.for_project(table.project_id) as work:
            before = work.versions.overwritten(
                table.id, project_id=table.project_id, max_bytes=10**9
            )
            changed = present(work.tables.replace(table.id, text, expected_revision=None))
            versions.recorder.record(work, changed, before)
            written[changed.revision] = work.tables.read(table.id)[1]
    for revision, text in written.items():
        assert text_at(bench, table, revision) == text
        versions.restore(bench.principal(table), table.id, revision)
        assert bench.work.tables.read(table.id)[1] == text


@only_postgres
def test_two_writers_at_once_record_everything(bench: PostgresBench) -> None:
    """Each version that was overwritten is what somebody wrote, and none is missing."""
    table = bench.table("first")
    tables = ManageTables(bench.store)

    def write(name: str) -> dict[int, str]:
        done = {}
        for number in range(12):
            text = f"{name} {number} " + prose(40_000, number)
            done[tables.replace(bench.principal(table), table.id, text).revision] = text
        return done

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(write, ["one", "other"])
    written = {1: "first", **one, **other}
    assert sorted(written) == [*range(1, 26)]
    for revision, text in written.items():
        assert json.loads(text_at(bench, table, revision)) == text


@only_postgres
def test_pieces_are_not_collected_while_somebody_records(
    bench: PostgresBench, hasty: PostgresStore
) -> None:
    """A piece that is there when a writer looks is there when he has committed."""
    table = without_past(bench)
    text = cut(json.dumps(prose(100_000)))
    with bench.store.for_project(table.project_id) as work:
        work.tables.replace(table.id, "3", expected_revision=None)
        assert work.versions.missing(table, list(text.pieces)) == set()
        with ThreadPoolExecutor(1) as other:
            assert other.submit(collect, hasty, table).result() == Pruned()
        work.versions.record(table, 1, text.content, [])
    assert collect(hasty, table).pieces == 0
    assert json.loads(text_at(bench, table, 1)) == prose(100_000)


def without_past(bench: PostgresBench) -> Table:
    """A table whose first text was overwritten and erased; its pieces are not collected yet."""
    table = bench.table(prose(100_000))
    ManageTables(bench.store).replace(bench.principal(table), table.id, "now")
    ManageVersions(bench.store).erase_all(bench.principal(table), table.id)
    return table


def collect(store: PostgresStore, table: Table) -> Pruned:
    with store.for_all("test") as work:
        return work.versions.prune(history_of(table), limit=1_000)


@only_postgres
def test_pieces_are_collected_of_a_table_that_somebody_has_locked(
    bench: PostgresBench, hasty: PostgresStore
) -> None:
    """He may need the history next: who waited for him with that in hand would never end."""
    table = without_past(bench)
    pieces = len(cut(json.dumps(prose(100_000))).pieces)
    with bench.tx() as tx:
        tx.run("SELECT FROM context_table WHERE id = :id FOR UPDATE", id=table.id)
        with ThreadPoolExecutor(1) as other:
            assert other.submit(collect, hasty, table).result().pieces == pieces


@only_postgres
def test_a_writer_waits_until_pieces_are_collected_and_then_misses_them(
    bench: PostgresBench, hasty: PostgresStore
) -> None:
    table = without_past(bench)
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


@only_postgres
def test_a_change_of_settings_locks_histories_in_table_order(bench: PostgresBench) -> None:
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
    with bench.tx() as tx:
        tx.run(lock, id=first.id)
        writing = bench.begun(write)
        assert not writing.done()
        assert all(tx.run(lock, id=table.id) for table in others)
    writing.result()


@only_postgres
def test_a_program_that_sets_a_revision_back_begins_it_anew(bench: PostgresBench) -> None:
    table = bench.table("one")
    tables = ManageTables(bench.store)
    tables.replace(bench.principal(table), table.id, "two")
    bench.sql("UPDATE context_table SET revision = 1 WHERE id = :id", id=table.id)
    with bench.store.for_all("test") as work:
        live = present(work.tables.find(table.id, project_id=table.project_id))
        found = find_version(work, live, 1)
    assert (found.is_live, found.cause, found.sha256) == (True, "sql", None)
    tables.replace(bench.principal(table), table.id, "three")
    assert text_at(bench, table, 1) == '"two"'


@only_postgres
def test_a_trigger_of_the_owner_never_borrows_our_origin(bench: PostgresBench) -> None:
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
        ManageTables(bench.store).replace(bench.principal(one), one.id, 2)
    finally:
        bench.sql("DROP FUNCTION public.follow CASCADE")
    causes = bench.sql(
        "SELECT table_id, cause FROM table_version WHERE revision = 2 AND table_id IN (:a, :b)",
        a=one.id,
        b=other.id,
    )
    assert sorted(causes) == [[one.id, "put"], [other.id, "sql"]]


@only_postgres
def test_a_row_of_nobody_has_no_history(bench: PostgresBench) -> None:
    [[table_id]] = bench.sql("INSERT INTO context_table (data) VALUES ('1') RETURNING id")
    bench.sql("UPDATE context_table SET data = '2' WHERE id = :id", id=table_id)
    assert bench.sql("SELECT FROM table_version WHERE table_id = :id", id=table_id) == []


@only_postgres
@pytest.mark.parametrize(("number", "count"), [("1e-16000", 17_000), ("1e131071", 2_100)])
def test_a_document_of_padded_numbers_is_a_gap_and_no_error(
    bench: PostgresBench, number: str, count: int
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
    ManageTables(bench.store).replace(bench.principal(table), table.id, 3)
    live = present(bench.work.tables.find(table.id, project_id=table.project_id))
    with bench.store.for_all("test") as work:
        found = find_version(work, live, 2)
    assert found.gap == "too_large"


@only_postgres
def test_deleting_a_project_by_sql_takes_its_past_along(bench: PostgresBench) -> None:
    table = bench.table(prose(100_000))
    ManageTables(bench.store).replace(bench.principal(table), table.id, "now")
    with bench.store.for_all("test") as work:
        work.projects.lock_settings(HistoryLimits, table.project_id)
        work.projects.write_settings(table.project_id, HistoryLimits(keep_days=1))
    bench.sql("DELETE FROM project WHERE id = :id", id=table.project_id)
    for name in ("table_version", "version_piece", "table_history", "project_settings"):
        rows = bench.sql(f"SELECT FROM {name} WHERE project_id = :id", id=table.project_id)
        assert rows == []


@only_postgres
def test_thousands_of_pieces_are_stored_and_read_in_batches(bench: PostgresBench) -> None:
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


DAY_S = 86_400.0


def test_a_label_keeps_a_version_and_twenty_of_them_are_enough(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, MAX_LABELS + 2):
        table = write(bench, table, str(number))
    done = [bench.work.versions.label(table, n, f"label {n}") for n in range(1, MAX_LABELS + 2)]
    assert done == [True] * MAX_LABELS + [False]
    assert bench.work.versions.label(table, 1, "another")
    assert bench.work.versions.label(table, 2, None)
    assert bench.work.versions.label(table, MAX_LABELS + 1, "now")
    keep(bench, table.project_id, keep_count=1)
    prune(bench)
    left = [(v.revision, v.label) for v in versions(bench, table) if v.label]
    assert left[0] == (21, "now")
    assert left[-1] == (1, "another")
    assert len(left) == MAX_LABELS


def test_erased_content_is_gone_and_the_version_says_so(bench: Bench) -> None:
    table = write(bench, write(bench, bench.table(LONG), '"two"'), '"three"')
    bench.work.versions.label(table, 1, "a name")
    bench.work.versions.erase(table, 1)
    bench.work.versions.erase(table, 3)  # live
    reported = [(v.revision, v.gap, v.label, v.size) for v in versions(bench, table)]
    assert reported == [(3, None, None, None), (2, None, None, 5), (1, "erased", None, None)]
    assert bench.work.versions.pieces(table, 1, first=0, count=9) == []
    assert prune(bench).pieces > 1
    assert read(bench, table, 2) == '"two"'
    bench.work.versions.erase(table)
    assert [v.gap for v in versions(bench, table)] == [None, "erased", "erased"]
    assert prune(bench).pieces == 1
    assert pieces_of(bench, table) == 0


def test_versions_leave_a_month_after_they_were_overwritten(bench: Bench) -> None:
    table = bench.table(0)
    bench.pass_time(40 * DAY_S)
    table = write(bench, table, "1")
    assert prune(bench).versions == 0
    bench.pass_time(29 * DAY_S)
    table = write(bench, table, "2")
    bench.pass_time(2 * DAY_S)
    assert prune(bench) == Pruned(1, 1)
    assert [v.revision for v in versions(bench, table)] == [3, 2]
    assert prune(bench) == Pruned()


def test_what_another_program_wrote_leaves_too(bench: Bench) -> None:
    table = bench.change(bench.table(0), 1)
    bench.pass_time(31 * DAY_S)
    assert prune(bench).versions == 1
    assert [v.revision for v in versions(bench, table)] == [2]


def test_so_many_versions_stay_and_gaps_push_none_of_them_out(bench: Bench) -> None:
    table = bench.table(0)
    keep(bench, table.project_id, keep_count=2)
    for number in range(1, 5):
        table = write(bench, table, str(number))
    for number in range(5, 9):
        table = bench.change(table, number)
    prune(bench)
    found = [(v.revision, v.gap) for v in versions(bench, table)]
    sql = "overwritten_by_sql"
    assert found == [(9, None), (8, sql), (7, sql), (4, None), (3, None)]


def test_the_oldest_leave_while_a_project_keeps_too_much(bench: Bench) -> None:
    one = write(bench, bench.table(LONG), '"a"')
    other = write(bench, bench.table([LONG, 1]), '"b"')
    used = pieces_of(bench, one)
    keep(bench, one.project_id, max_bytes=used - 1)
    assert bench.work.versions.over_limit(limit=9) == [one.project_id]
    assert bench.work.versions.expire_oldest(one.project_id) == 1
    prune(bench)
    assert bench.work.versions.over_limit(limit=9) == []
    assert [v.revision for v in versions(bench, one)] == [2]
    assert [v.revision for v in versions(bench, other)] == [2, 1]


def test_the_project_that_is_furthest_over_its_limit_is_first(bench: Bench) -> None:
    tables = []
    for most in (3, 1, 2, 4):
        table = write(bench, bench.table(LONG, bench.project()), '"a"')
        keep(bench, table.project_id, max_bytes=most)
        tables.append(table)
    labelled = tables[1]
    bench.work.versions.label(labelled, 1, "mine")
    expected = [tables[at].project_id for at in (2, 0, 3)]
    assert bench.work.versions.over_limit(limit=9) == expected
    assert bench.work.versions.over_limit(limit=1) == expected[:1]


def test_what_was_written_meanwhile_is_erased_with_the_rest(bench: Bench) -> None:
    read_before = bench.table(LONG)
    for text in ('"a"', '"b"'):
        table = write(bench, read_before, text)
    bench.work.versions.erase(read_before)
    assert [(v.revision, v.gap, v.is_live) for v in versions(bench, table)] == [
        (3, None, True),
        (2, "erased", False),
        (1, "erased", False),
    ]


def test_a_labelled_version_stays_whatever_it_takes(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), '"a"')
    bench.work.versions.label(table, 1, "mine")
    keep(bench, table.project_id, max_bytes=1)
    assert bench.work.versions.expire_oldest(table.project_id) == 0
    prune(bench)
    assert read(bench, table, 1)


def replaced(bench: Bench, table: Table, revision: int, *, days: int = 30) -> Plan:
    """A plan that replaced a revision and can be undone for so many days."""
    plan = added(bench, table.project_id, request=None)
    done = PlannedTable(table.id, revision, 1, 1, state="done", revision_before=revision)
    bench.work.plans.add_tables(plan.id, [done])
    return saved(bench, plan, state="done", undo_until=plan.created_at + timedelta(days=days))


def test_what_a_plan_replaced_that_can_be_undone_is_never_too_much(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 5):
        table = write(bench, table, str(number))
    plan = replaced(bench, table, 2)
    replaced(bench, bench.table(0), 1)
    keep(bench, table.project_id, keep_count=1, max_bytes=1)
    assert prune(bench).versions == 2
    assert [v.revision for v in versions(bench, table)] == [5, 4, 2]
    assert bench.work.versions.over_limit(limit=9) == [table.project_id]
    assert bench.work.versions.expire_oldest(table.project_id) == 1
    assert bench.work.versions.over_limit(limit=9) == []
    assert bench.work.versions.expire_oldest(table.project_id) == 0
    assert [v.revision for v in versions(bench, table)] == [5, 2]
    undo = present(undo_of(bench, plan))
    # It may fail, and the plan can be undone again.
    assert bench.work.versions.expire_oldest(table.project_id) == 0
    bench.work.plans.save(replace(undo, state="done"))
    assert bench.work.versions.expire_oldest(table.project_id) == 1
    assert [v.revision for v in versions(bench, table)] == [5]


def test_what_a_plan_has_replaced_so_far_is_never_too_much(bench: Bench) -> None:
    table = write(bench, write(bench, bench.table(0), "1"), "2")
    plan = replaced(bench, table, 1)
    bench.work.plans.save(replace(plan, state="executing", undo_until=None))
    keep(bench, table.project_id, keep_count=1, max_bytes=1)
    prune(bench)
    assert bench.work.versions.expire_oldest(table.project_id) == 1
    assert [v.revision for v in versions(bench, table)] == [3, 1]


def test_what_a_plan_replaced_goes_when_it_cannot_be_undone_any_more(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 4):
        table = write(bench, table, str(number))
    replaced(bench, table, 1, days=10)
    keep(bench, table.project_id, keep_count=1)
    prune(bench)
    assert [v.revision for v in versions(bench, table)] == [4, 3, 1]
    bench.pass_time(11 * DAY_S)
    write(bench, table, "4")
    prune(bench)
    assert [v.revision for v in versions(bench, table)] == [5, 4]


def test_what_a_plan_replaced_grows_too_old_like_all_others(bench: Bench) -> None:
    table = write(bench, bench.table(0), "1")
    replaced(bench, table, 1, days=60)
    bench.pass_time(31 * DAY_S)
    prune(bench)
    assert [v.revision for v in versions(bench, table)] == [2]


def test_a_history_that_is_switched_off_is_deleted_and_records_nothing(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), "1")
    bench.work.versions.label(table, 1, "mine")
    keep(bench, table.project_id, keep_count=0)
    assert prune(bench).versions == 2
    assert versions(bench, bench.change(table, 2)) == []
    assert pieces_of(bench, table) == 0


def test_a_large_history_is_pruned_in_steps(bench: Bench) -> None:
    table = bench.table(0)
    for number in range(1, 6):
        table = write(bench, table, str(number))
    keep(bench, table.project_id, keep_count=0)
    assert prune(bench, limit=4) == Pruned(4, 4, is_done=False)
    assert prune(bench, limit=4) == Pruned(2, 1, is_done=True)
    assert prune(bench) == Pruned()


def test_a_deleted_table_loses_its_history_before_its_row(bench: Bench) -> None:
    table = write(bench, bench.table(LONG), "1")
    bench.delete(table)
    assert bench.work.removals.due(limit=9) == []
    assert bench.work.versions.due(limit=9) == [TableHistory(table.id, table.project_id)]
    prune(bench)
    [removal] = bench.work.removals.due(limit=9)
    assert bench.work.removals.remove(removal) == "removed"
    assert bench.work.versions.due(limit=9) == []
