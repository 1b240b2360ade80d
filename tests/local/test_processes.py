"""A running part: told to go, found dead, stopped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local.processes import KEPT_LOG_BYTES, Child, handed_over, listen
from local.state import StackBusyError, StackError
from tests.stack import eventually

pytestmark = pytest.mark.slow


def test_a_part_that_ended_before_it_was_told_to_go_is_stopped_in_peace(tmp_path: Path) -> None:
    child = Child("functions", ["no_such_module"], {}, tmp_path / "log")

    def has_ended() -> bool:
        try:
            child.check()
        except StackError:
            return True
        return False

    assert eventually(has_ended, 20)
    child.go()
    child.stop(1)
    with pytest.raises(StackError, match="functions ended with code 1"):
        child.check()


def test_the_log_of_the_run_before_is_kept_and_bounded(tmp_path: Path) -> None:
    log, before = tmp_path / "functions.log", tmp_path / "functions.log.1"
    crash = b"the last words\n"
    log.write_bytes(b"x" * KEPT_LOG_BYTES + crash)
    Child("functions", ["no_such_module"], {}, log).stop(1)
    assert before.stat().st_size == KEPT_LOG_BYTES
    assert before.read_bytes().endswith(crash)
    assert crash not in log.read_bytes()


def test_a_part_that_said_nothing_does_not_replace_the_log_of_the_run_before(
    tmp_path: Path,
) -> None:
    log, before = tmp_path / "functions.log", tmp_path / "functions.log.1"
    before.write_bytes(b"the last words\n")
    log.touch()
    Child("functions", ["no_such_module"], {}, log).stop(1)
    assert before.read_bytes() == b"the last words\n"


def test_a_port_that_is_handed_over_is_taken_before_the_child_listens() -> None:
    with handed_over() as (url, _), pytest.raises(StackBusyError, match="is not free"):
        listen(int(url.rpartition(":")[2]))


def test_eighty_parts_that_start_at_the_same_moment_share_no_port(tmp_path: Path) -> None:
    # In a variable: a socket without a name is closed at once, and then its port is free.
    serve = "import socket, sys; taken = socket.socket(fileno=int(sys.argv[1])); taken.listen()"
    (tmp_path / "part.py").write_text(f"{serve}; input()")

    def start(number: int) -> tuple[str, Child]:
        with handed_over() as (url, fd):
            log = tmp_path / f"{number}.log"
            environment = {"PYTHONPATH": str(tmp_path)}
            return url, Child("part", ["part", str(fd)], environment, log, [fd])

    with ThreadPoolExecutor(8) as threads:
        started = list(threads.map(start, range(80)))
    for _, child in started:
        child.check()
        child.stop(0)
    assert len({url for url, _ in started}) == 80
