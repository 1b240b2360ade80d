"""Unit tests stay unit tests: these two try to be more."""

from __future__ import annotations

import subprocess
import sys

import pytest

refused = pytest.raises(pytest.fail.Exception, match="is not for unit tests")


@pytest.fixture
def stack() -> None:
    """Named like a running part; refusing a real one would break it for the tests that follow."""


def test_a_unit_test_gets_no_running_part(request: pytest.FixtureRequest) -> None:
    with refused:
        request.getfixturevalue("stack")


def test_a_unit_test_starts_no_program_of_ours() -> None:
    with refused:
        subprocess.run([sys.executable, "-c", ""], check=True)
