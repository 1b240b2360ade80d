"""A running part: told to go, found dead, stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from local.processes import KEPT_LOG_BYTES, Child
from local.state import StackError
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
