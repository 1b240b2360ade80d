"""The local PostgreSQL server: started from nothing, after every kind of death, and only once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from context_search.postgres.connection import Connection
from context_search.postgres.errors import StatementRejectedError
from context_search.postgres.url import DatabaseUrl
from local.locks import DirectoryInUseError
from local.postgres import PostgresServer
from local.postgres.placement import Account
from tests.local.postgres_probe import STARTS_AND_WAITS, keep, query, start_python
from tests.local.tiny import is_alive
from tests.stack import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the tests that need no new data keep them; root has closed it to others (0700)."""
    root = tmp_path_factory.mktemp("postgres")
    yield root
    PostgresServer(root).wipe()


@pytest.fixture
def server(root: Path) -> Iterator[PostgresServer]:
    server = PostgresServer(root)
    yield server
    server.stop()


def test_data_survive_a_restart_at_the_same_address(server: PostgresServer) -> None:
    server.start()
    first = server.url
    keep(first, 7)
    server.stop()
    server.stop()
    server.start()
    assert server.url == first
    assert query(server.url, "SELECT n FROM kept") == [[7]]


def test_nobody_gets_in_without_the_password(server: PostgresServer) -> None:
    server.start()
    stranger = DatabaseUrl.parse(server.url.replace("postgres:", "postgres:no", 1))
    with pytest.raises(Exception, match="28P01"):
        Connection(stranger)


def test_a_port_that_was_taken_meanwhile_is_left_to_its_owner(server: PostgresServer) -> None:
    server.start()
    first = DatabaseUrl.parse(server.url)
    keep(server.url, 6)
    server.stop()
    with socket.create_server(("127.0.0.1", first.port)):
        server.start()
    assert DatabaseUrl.parse(server.url).port != first.port
    assert query(server.url, "SELECT n FROM kept") == [[6]]


def test_a_wiped_server_starts_from_nothing(server: PostgresServer) -> None:
    server.start()
    query(server.url, "CREATE TABLE gone (n int)")
    server.wipe()
    server.start()
    assert query(server.url, "SELECT to_regclass('gone')") == [[None]]


_BUSY_FOR_A_MINUTE = """
DO $$ BEGIN WHILE clock_timestamp() < now() + interval '1 minute' LOOP END LOOP; END $$"""


def test_a_killed_server_with_a_busy_backend_comes_back_with_its_data(
    server: PostgresServer,
) -> None:
    server.start()
    keep(server.url, 8)
    busy = Connection(DatabaseUrl.parse(server.url))
    # Too busy to notice that the postmaster is gone, as it waits for nothing.
    busy.wait_at_most(0.05)
    with pytest.raises(Exception, match="connection lost"):
        busy.query(_BUSY_FOR_A_MINUTE)
    os.kill(server.pid, signal.SIGKILL)
    server.stop()
    server.start()
    assert query(server.url, "SELECT n FROM kept") == [[8]]


def test_the_server_dies_with_its_killed_starter_and_the_next_one_takes_over(
    server: PostgresServer, root: Path
) -> None:
    with start_python(STARTS_AND_WAITS, str(root)) as starter:
        assert starter.stdout is not None
        pid, url = starter.stdout.readline().split()
        keep(url, 9)
        with pytest.raises(DirectoryInUseError):
            server.start()
        starter.kill()
    server.start()
    assert not is_alive(int(pid))
    assert query(server.url, "SELECT n FROM kept") == [[9]]


def test_a_server_follows_a_killed_starter_by_itself(root: Path) -> None:
    with start_python(STARTS_AND_WAITS, str(root)) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline().split()[0])
        assert is_alive(pid)
        starter.kill()
    assert eventually(lambda: not is_alive(pid))


def test_a_second_program_on_the_same_data_is_told_so(server: PostgresServer, root: Path) -> None:
    server.start()
    second = PostgresServer(root)
    for attempt in (second.start, second.wipe):
        with pytest.raises(DirectoryInUseError, match=str(root)):
            attempt()
    assert query(server.url, "SELECT 1") == [[1]]


def test_a_stale_pid_file_that_names_a_living_stranger_is_no_obstacle(
    server: PostgresServer,
) -> None:
    server.start()
    [[data]] = query(server.url, "SHOW data_directory")
    pid_file = Path(str(data)) / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    server.stop()
    account = Account.for_server()
    with subprocess.Popen(["/bin/sleep", "60"], user=account.uid, cwd="/") as stranger:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        os.chown(pid_file, account.uid, account.gid)
        server.start()
        assert stranger.poll() is None
        stranger.kill()
    assert query(server.url, "SELECT 1") == [[1]]


def test_an_initdb_that_was_killed_leaves_nothing_that_matters(server: PostgresServer) -> None:
    server.start()
    [[data]] = query(server.url, "SHOW data_directory")
    server.wipe()
    unfinished = Path(str(data)).with_name("data.unfinished")
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    server.start()
    assert query(server.url, "SELECT 1") == [[1]]


def test_a_server_that_cannot_start_says_why_and_lets_go_of_the_data(
    server: PostgresServer, root: Path
) -> None:
    with pytest.raises(RuntimeError, match="no_such_setting"):
        PostgresServer(root, settings={"no_such_setting": "1"}).start()
    server.start()
    assert query(server.url, "SELECT 1") == [[1]]


def test_the_log_holds_no_value_of_a_row(server: PostgresServer) -> None:
    server.start()
    connection = Connection(DatabaseUrl.parse(server.url))
    connection.query("CREATE TEMP TABLE t (v text UNIQUE); INSERT INTO t VALUES ('canary')")
    for sql in ("INSERT INTO t VALUES (:v)", "SELECT :v::text::int"):
        with pytest.raises(StatementRejectedError):
            connection.query(sql, {"v": "canary"})
    connection.close()
    [[data]] = query(server.url, "SHOW data_directory")
    log = Path(str(data)).with_name("server.log").read_text()
    assert "ready to accept connections" in log
    assert "canary" not in log
