"""A function begins as soon as it is loaded: what its first request does not need is not."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from scripts.shape.modules import is_use_case
from tests.architecture.project import ROOT

pytestmark = pytest.mark.slow

MOST = 110
"""Modules of ours with code in them that a search function may load before its first request."""
LOADED = """
import importlib
import sys

importlib.import_module("functions.search.app")

for name, module in sorted(sys.modules.items()):
    if name.startswith(("context_search", "functions")) and module.__file__:
        print(name, module.__file__)
"""
ANOTHERS = ("context_search.indexing", "context_search.maintenance")
EDITING = "context_search_editing."
ALSO_OURS = {"context_search.indexing.outbox_delivery"}
"""What leaves after a commit is for every function."""


@cache
def loaded() -> dict[str, str]:
    """The modules that a process has loaded with ``search``, by name, and where they are."""
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", LOADED],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    pairs = (line.split(" ", 1) for line in ended.stdout.splitlines())
    return {name: file for name, file in pairs if has_code(file)}


def has_code(file: str) -> bool:
    """Says whether a module is more than a docstring."""
    body = ast.parse(Path(file).read_text()).body
    return any(not isinstance(node, ast.Expr) for node in body)


def test_a_search_function_loads_few_modules_of_ours() -> None:
    names = loaded()
    assert "functions.search.app" in names
    assert len(names) <= MOST, sorted(names)


def test_a_search_function_loads_no_use_cases_of_indexing_and_maintenance() -> None:
    foreign = {name for name in loaded() if name.startswith(ANOTHERS) and is_use_case(name)}
    assert foreign == ALSO_OURS


def test_a_search_function_loads_nothing_that_edits() -> None:
    assert {name for name in loaded() if name.startswith(EDITING)} == set()
