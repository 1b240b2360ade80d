"""A running part: told to go, found dead, stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from local.processes import Child
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
