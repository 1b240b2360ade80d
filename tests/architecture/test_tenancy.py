"""Nobody sees the rows of all projects by leaving something out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "shared"

USES = """
from context_search.core.callers import Internal, ProjectKey
from context_search.store import Store, UnitOfWork
from context_search.access.lookup import live_tool
from context_search.searching.rules.searched import SearchedTool

def use(store: Store, work: UnitOfWork) -> None:
"""
RIGHT = [
    *("store.for_project(1)", 'store.for_all("a reason")', "live_tool(work, 1, ProjectKey(1))"),
    *("live_tool(work, 1, Internal())", "SearchedTool.by(Internal(), 1)"),
]
WRONG = [
    *("store.for_project()", "store.for_project(None)", "store.for_all()", "store.for_all(None)"),
    *("store.transaction()", "live_tool(work, 1)", "live_tool(work, 1, None)"),
    *("SearchedTool.by(None, 1)", "ProjectKey()"),
]


def refused(lines: list[str], tmp_path: Path) -> list[str]:
    """Returns those of the lines that mypy refuses."""
    module = tmp_path / "uses.py"
    module.write_text(USES + "".join(f"    {line}\n" for line in lines))
    config = str(ROOT / "pyproject.toml")
    reported, failed, _ = api.run(["--config-file", config, "--no-error-summary", str(module)])
    assert not failed
    first = USES.count("\n") + 1
    numbers = [int(number) for number in re.findall(r"uses\.py:(\d+): error", reported)]
    return [lines[number - first] for number in numbers]


@pytest.mark.slow
def test_forgetting_the_project_or_the_caller_does_not_type_check(tmp_path: Path) -> None:
    assert refused(RIGHT + WRONG, tmp_path) == WRONG


def test_every_reason_to_see_all_projects_is_in_the_document() -> None:
    """``for_all`` is for few, and who reads docs/consistency.md sees all of them."""
    given = {
        reason
        for path in SHARED.rglob("*.py")
        for reason in re.findall(r"\.for_all\(\s*(\S[^,)]*)", path.read_text())
    }
    assert all(reason.startswith('"') or reason == "reason" for reason in given), given
    page = (ROOT / "docs/consistency.md").read_text()
    documented = re.findall(r"^\| `for_all\(\"(.+)\"\)` \|", page, re.MULTILINE)
    assert sorted(documented) == sorted(reason.strip('"') for reason in given - {"reason"})
