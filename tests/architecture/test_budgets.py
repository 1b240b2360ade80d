"""Functions stay small enough to read at one sitting."""

from __future__ import annotations

from tests.architecture.project import SOURCE_FOLDERS, functions_in, python_files

FUNCTION_LINES = 50


def test_no_function_is_longer_than_its_budget() -> None:
    lengths = [pair for path in python_files(*SOURCE_FOLDERS) for pair in functions_in(path)]
    assert [pair for pair in lengths if pair[1] > FUNCTION_LINES] == []
