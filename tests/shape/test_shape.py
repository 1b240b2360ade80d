"""The figures of ``make shape``, on small trees whose figures one can count by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from scripts.shape.__main__ import of_text
from scripts.shape.modules import cycles, imports, is_use_case, name_of, read_modules
from scripts.shape.record import append
from scripts.shape.requests import Profiler
from scripts.shape.states import GENERATION, PLAN, writers

PORT = """
from typing import Protocol

class Plans(Protocol):
    def find(self): ...
    def save(self, plan): ...
"""
KEYS = """
class Keys:
    def add(self): ...
    def _read(self): ...

class Key:
    def name(self): ...
"""
UNDO = """
from dataclasses import replace

from context_search_editing.executing import execute
from context_search.integrations.patterns.ports import Plans

def undo(plans: Plans, plan: Plan):
    execute(plans, plan)
    plans.save(replace(plan, state="expired"))
"""
EXECUTE = """
def execute(plans, plan: Plan):
    from context_search_editing.undoing import undo
    plans.save(plan)
    return plans.find(plan.id, state="executing")
"""
SEARCH = "def search():\n    keys.add()\n    return rank()\n\ndef rank():\n    return ()\n"
SQL = """
UPDATE index_generation SET retired_at = now(), state = 'retired' WHERE id = 1;
"""
READING_SQL = """
UPDATE index_generation SET calibration = '{}' WHERE state = 'active';
UPDATE node SET state = 'queued';
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with a cycle, one writer of each state, and one port."""
    package, editing = "shared/context_search", "shared/context_search_editing"
    for path, text in {
        f"{editing}/ports.py": PORT,
        f"{editing}/undoing.py": UNDO,
        f"{editing}/executing.py": EXECUTE,
        f"{package}/access/sql/keys.py": KEYS,
        f"{package}/searching/search.py": SEARCH,
        f"{package}/postgres/retire.sql": SQL,
        f"{package}/postgres/calibrate.sql": READING_SQL,
        "tests/test_undo.py": "def test_undo():\n    pass\n",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_the_figures_of_a_small_tree(tree: Path) -> None:
    figures = of_text(tree)
    python = sum(len(text.splitlines()) for text in (PORT, UNDO, EXECUTE, KEYS, SEARCH))
    sql = sum(len(text.splitlines()) for text in (SQL, READING_SQL))
    to_read = len(SEARCH.splitlines())
    assert figures["deployed lines with SQL / modules"] == f"{python + sql} / 5"
    assert figures["lines to read before a first change in searching"] == str(to_read)
    assert figures["port methods / called once"] == "2 / 1"
    assert figures["methods of repositories / called once"] == "1 / 1"
    assert figures["modules that write a plan's state / a generation's"] == "1 / 1"
    assert figures["lines of tests"] == "2"
    assert figures["import cycles"] == "1"


def test_an_import_in_a_function_closes_a_cycle(tree: Path) -> None:
    editing = "context_search_editing"
    assert cycles(imports(read_modules(tree))) == [{f"{editing}.executing", f"{editing}.undoing"}]


def test_only_who_names_a_state_writes_it(tree: Path) -> None:
    modules = read_modules(tree)
    assert writers(PLAN, modules, tree) == {"context_search_editing.undoing"}
    retiring = tree / "shared" / "context_search" / "postgres" / "retire.sql"
    assert writers(GENERATION, modules, tree) == {str(retiring)}


@pytest.mark.parametrize(
    "name", ["context_search.searching.search", "context_search_editing.undoing"]
)
def test_use_cases(name: str) -> None:
    assert is_use_case(name)


@pytest.mark.parametrize(
    "name",
    [
        "context_search.settings",
        "context_search.core.ids",
        "context_search.searching.rules",
        "context_search.searching.sql.keywords",
        "context_search.integrations.patterns.ports",
        "context_search_editing.routes",
        "functions.search.app",
    ],
)
def test_what_holds_no_use_case(name: str) -> None:
    assert not is_use_case(name)


def test_a_pass_leads_from_a_use_case_to_another_one(tree: Path) -> None:
    shared = tree / "shared"
    search = shared / "context_search" / "searching" / "search.py"
    execute = shared / "context_search_editing" / "executing.py"
    execute.write_text("def execute(search):\n    return list(map(search, range(3)))\n")
    search.write_text("def search(_):\n    return rank()\n\ndef rank():\n    return ()\n")
    profiler = Profiler(tree)
    try:
        with profiler.noting() as taken:
            _module(execute, tree).execute(_module(search, tree).search)
    finally:
        profiler.close()
    assert taken.files == {name_of(search, tree), name_of(execute, tree)}
    assert taken.passes == 3  # ``map`` lies between; ``rank`` is in the module that calls it


def test_a_record_has_a_line_for_each_release(tmp_path: Path) -> None:
    path = tmp_path / "shape.tsv"
    append(path, "0.2.0", {"modules": "3", "import cycles": "1"})
    append(path, "0.3.0", {"modules": "2", "import cycles": "0"})
    assert path.read_text() == "version\tmodules\timport cycles\n0.2.0\t3\t1\n0.3.0\t2\t0\n"
    with pytest.raises(ValueError, match=r"a line for 0\.3\.0"):
        append(path, "0.3.0", {"modules": "1", "import cycles": "0"})
    with pytest.raises(ValueError, match="other columns"):
        append(path, "0.4.0", {"modules": "1"})


def _module(path: Path, root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name_of(path, root), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
