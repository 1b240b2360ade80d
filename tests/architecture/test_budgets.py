"""Files and functions stay small enough to read at one sitting."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.project import (
    ROOT,
    SOURCE_FOLDERS,
    functions_in,
    python_files,
    relative,
)

FILE_LINES = 400
FUNCTION_LINES = 50
# File → why it may be longer.
LONG_FILES: dict[str, str] = {
    "shared/context_search/domain/errors.py": "the tree of all errors",
}


def test_no_file_is_longer_than_its_budget() -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in budgeted()}
    assert {name: n for name, n in lengths.items() if n > FILE_LINES} == {}


def test_no_function_is_longer_than_its_budget() -> None:
    lengths = [pair for path in budgeted() for pair in functions_in(path)]
    assert [pair for pair in lengths if pair[1] > FUNCTION_LINES] == []


def test_an_exception_to_the_budget_is_one_and_has_a_reason() -> None:
    for name, reason in LONG_FILES.items():
        assert len((ROOT / name).read_text().splitlines()) > FILE_LINES
        assert reason


def budgeted() -> list[Path]:
    """The files that the budgets hold for."""
    return [path for path in python_files(*SOURCE_FOLDERS) if relative(path) not in LONG_FILES]
