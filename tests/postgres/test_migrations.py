"""SQL files against a real database: in order, once, whole or not at all."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from context_search.postgres import migrations
from context_search.postgres.migrations import MigrationError
from context_search.postgres.pool import Database, Transaction
from context_search.postgres.url import DatabaseUrl
from tests.postgres.schema.catalogue import catalogue

_FIRST = "0001_first.sql"
_SECOND = "0002_second.sql"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(tmp_path, _FIRST, "CREATE TABLE first (n int); INSERT INTO first VALUES (1);")
    _write(tmp_path, _SECOND, "ALTER TABLE first ADD m int; UPDATE first SET m = n + 1;")
    return tmp_path


def _write(folder: Path, name: str, sql: str) -> None:
    (folder / name).write_text(sql)


@contextmanager
def _transaction(url: DatabaseUrl) -> Iterator[Transaction]:
    database = Database(url)
    with database.transaction() as tx:
        yield tx
    database.close()


def _run(url: DatabaseUrl, sql: str) -> list[list[object]]:
    with _transaction(url) as tx:
        return tx.run(sql)


def _applied(url: DatabaseUrl) -> list[object]:
    return [name for (name,) in _run(url, "SELECT name FROM context_search.migration ORDER BY 1")]


def test_files_are_applied_in_order_and_once(empty_database_url: DatabaseUrl, folder: Path) -> None:
    assert migrations.apply(empty_database_url, folder) == [_FIRST, _SECOND]
    assert migrations.apply(empty_database_url, folder) == []
    assert _run(empty_database_url, "SELECT n, m FROM first") == [[1, 2]]


def test_an_applied_file_must_not_change(empty_database_url: DatabaseUrl, folder: Path) -> None:
    migrations.apply(empty_database_url, folder)
    _write(folder, _FIRST, "CREATE TABLE another (n int);")
    with pytest.raises(MigrationError, match=r"0001_first\.sql was changed"):
        migrations.apply(empty_database_url, folder)


def test_a_database_that_is_ahead_is_left_alone(
    empty_database_url: DatabaseUrl, folder: Path
) -> None:
    migrations.apply(empty_database_url, folder)
    (folder / _SECOND).unlink()
    with pytest.raises(MigrationError, match=r"0002_second\.sql was applied, but"):
        migrations.apply(empty_database_url, folder)


def test_a_file_cannot_be_put_before_an_applied_one(
    empty_database_url: DatabaseUrl, tmp_path: Path
) -> None:
    _write(tmp_path, "0002_later.sql", "SELECT 1;")
    migrations.apply(empty_database_url, tmp_path)
    _write(tmp_path, "0001_earlier.sql", "SELECT 1;")
    with pytest.raises(MigrationError, match=r"0001_earlier\.sql comes before"):
        migrations.apply(empty_database_url, tmp_path)


def test_a_failing_file_leaves_the_database_as_it_was(
    empty_database_url: DatabaseUrl, folder: Path
) -> None:
    _write(folder, _SECOND, "CREATE TABLE second (n int);\nINSERT INTO absent VALUES (1);")
    with pytest.raises(MigrationError, match=r"0002_second\.sql: SQLSTATE 42P01, line 2"):
        migrations.apply(empty_database_url, folder)
    assert _applied(empty_database_url) == [_FIRST]
    assert _run(empty_database_url, "SELECT to_regclass('second')") == [[None]]


def test_a_file_must_not_end_the_transaction(empty_database_url: DatabaseUrl, folder: Path) -> None:
    _write(folder, _SECOND, "CREATE TABLE second (n int); COMMIT; BEGIN; SELECT 1;")
    with pytest.raises(MigrationError, match="ends the transaction"):
        migrations.apply(empty_database_url, folder)
    assert _applied(empty_database_url) == [_FIRST]


def test_without_a_database_the_variable_that_names_one_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        migrations.main(["--database-url", ""])
    assert ended.value.code == 2
    assert "DATABASE_URL" in capsys.readouterr().err.rpartition("error: ")[2]


@pytest.mark.parametrize(
    "names",
    [["1_short.sql"], ["0001_Upper.sql"], ["0001_notes.txt"], ["0001_one.sql", "0001_other.sql"]],
)
def test_a_folder_with_a_doubtful_name_is_refused(names: list[str], tmp_path: Path) -> None:
    for name in names:
        _write(tmp_path, name, "SELECT 1;")
    with pytest.raises(MigrationError, match="NNNN_name"):
        migrations.read(tmp_path)


@pytest.mark.parametrize("number", [90_624, 140_020])
def test_a_server_before_15_is_refused(number: int) -> None:
    with pytest.raises(MigrationError, match="PostgreSQL 15 or newer"):
        migrations.require_version(number)


def test_the_command_says_what_it_applied_and_keeps_the_password_to_itself(
    postgres_url: str, database_url: DatabaseUrl
) -> None:
    address = postgres_url.rsplit("/", 1)[0]
    done = _command(f"{address}/{database_url.database}")
    assert (done.returncode, done.stdout) == (0, "nothing to apply\n")
    failed = _command(f"{address}/absent")
    assert (failed.returncode, failed.stderr) == (1, "login refused: SQLSTATE 3D000\n")


def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    postgres_url: str, empty_database_url: DatabaseUrl
) -> None:
    address = f"{postgres_url.rsplit('/', 1)[0]}/{empty_database_url.database}"
    before = catalogue(empty_database_url)
    said = _command(address, "--dry-run")
    shipped = [migration.name for migration in migrations.read(migrations.shipped())]
    assert (said.returncode, said.stdout.splitlines()) == (
        0,
        [
            "makes project, context_table and tool in the schema public",
            "will make the schema context_search for the tables that only we use",
            *(f"will apply {name}" for name in shipped),
        ],
    )
    assert catalogue(empty_database_url) == before
    done = _command(address)
    assert done.stdout == said.stdout + "".join(f"applied {name}\n" for name in shipped)
    assert _command(address, "--dry-run").stdout == "nothing to apply\n"


def _command(url: str, *options: str) -> subprocess.CompletedProcess[str]:
    source_root = Path(migrations.__file__).parents[2]
    return subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-m", migrations.__name__, "--database-url", url, *options],
        cwd=source_root,
        capture_output=True,
        text=True,
        check=False,
    )


_MADE = re.compile(r"^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)", re.MULTILINE)
_INDEXED = re.compile(r"^CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?\w+\s+ON (\w+)", re.MULTILINE)


def test_an_index_on_a_table_with_rows_keeps_nobody_waiting() -> None:
    shipped = migrations.read(migrations.shipped())
    waiting = {
        one.name: set(_INDEXED.findall(one.sql)) - set(_MADE.findall(one.sql)) for one in shipped
    }
    assert set().union(*waiting.values()) == set(), waiting
    assert any(_INDEXED.findall(one.sql) for one in shipped)
