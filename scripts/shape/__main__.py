"""Print the shape of the deployed code: ``make shape``. ``RECORD=0.2.0`` keeps it for a release.

Deployed are the Python and SQL files below ``shared`` and ``functions``; modules are the Python
files below ``shared`` of more than one line. Lines to read before a first change in searching are
those of the Python modules below ``shared`` that lie in no folder of another feature. Port methods
are those of protocols, methods of repositories those of the classes in ``REPOSITORIES``; called
once are those with one call in use cases and web. ``requests.py`` says how files and passes are
counted, ``states.py`` which modules write a state.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from context_search.store import REPOSITORIES
from scripts.shape.modules import (
    FEATURES,
    WEB,
    Module,
    cycles,
    importers,
    imports,
    is_use_case,
    read_modules,
)
from scripts.shape.record import append
from scripts.shape.requests import take_requests
from scripts.shape.states import GENERATION, PLAN, writers

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "shape.tsv"
IMPORTS_OF_SEARCH = """
import sys
import functions.search.app
print(sum(name.startswith("context_search") for name in sys.modules))
"""


def main() -> None:
    """Print a line for each figure."""
    parser = argparse.ArgumentParser(prog="python -m scripts.shape", description=__doc__)
    parser.add_argument("--record", metavar="VERSION", help="append the figures to docs/shape.tsv")
    version = parser.parse_args().record
    figures = {**of_text(ROOT), **_of_imports(), **_of_requests()}
    width = max(map(len, figures))
    for what, figure in figures.items():
        sys.stdout.write(f"{what:<{width}}  {figure}\n")
    if version:
        append(RECORD, version, figures)


def of_text(root: Path) -> dict[str, str]:
    """Return the figures that the files below ``root`` show by themselves."""
    modules = read_modules(root)
    shared = [module for module in modules if "shared" in module.folders]
    with_code = [module for module in shared if module.lines > 1]
    imported_by = importers(modules)
    single = [module for module in shared if len(imported_by[module.name]) == 1]
    near = sum(_parent(module.name) in map(_parent, imported_by[module.name]) for module in single)
    lines = [module.lines for module in with_code]
    functions = [size for module in shared for size in _function_lengths(module.tree)]
    plan, generation = (len(writers(noun, modules, root)) for noun in (PLAN, GENERATION))
    deployed = sum(module.lines for module in modules) + _lines(root / "shared", "*.sql")
    return {
        "deployed lines with SQL / modules": f"{deployed:,} / {len(with_code)}",
        "lines to read before a first change in searching": f"{_lines_to_read(shared):,}",
        "port methods / called once": _called_once(shared, _is_port),
        "methods of repositories / called once": _called_once(shared, _is_repository),
        "modules that write a plan's state / a generation's": f"{plan} / {generation}",
        "lines of tests": f"{_lines(root / 'tests', '*.py'):,}",
        "import cycles": str(len(cycles(imports(modules)))),
        "modules with a single importer": f"{len(single)} ({near} in the same package)",
        "file lines median / max": f"{statistics.median(lines):g} / {max(lines)}",
        "function lines median / max": f"{statistics.median(functions):g} / {max(functions)}",
        "classes called as functions": str(_callable_classes(shared)),
    }


def _of_imports() -> dict[str, str]:
    return {
        "imports against the direction": str(_against_the_direction()),
        "our modules imported by functions/search at INIT": _imported_by_search(),
    }


def _of_requests() -> dict[str, str]:
    taken = take_requests()
    search, worker, undo = (taken[name] for name in ("search", "worker", "undo"))
    files = " / ".join(str(len(each.files)) for each in (search, worker, undo))
    return {
        "files in the path of search / worker / undo": files,
        "passes between use cases of search / undo": f"{search.passes} / {undo.passes}",
    }


def _parent(name: str) -> str:
    return name.rpartition(".")[0]


def _lines(folder: Path, pattern: str) -> int:
    return sum(len(path.read_text().splitlines()) for path in folder.rglob(pattern))


def _lines_to_read(shared: list[Module]) -> int:
    others = FEATURES - {"searching"}
    return sum(module.lines for module in shared if module.folders.isdisjoint(others))


def _function_lengths(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def _callable_classes(modules: list[Module]) -> int:
    return sum(
        isinstance(member, ast.FunctionDef) and member.name == "__call__"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        for member in node.body
    )


def _is_port(_: Module, node: ast.ClassDef) -> bool:
    return "Protocol" in map(ast.unparse, node.bases)


def _is_repository(module: Module, node: ast.ClassDef) -> bool:
    return f"{module.name}:{node.name}" in REPOSITORIES.values()


def _called_once(modules: list[Module], is_one: Callable[[Module, ast.ClassDef], bool]) -> str:
    """Return how many methods such classes have, and how many are called once."""
    callers = "\n".join(
        module.text
        for module in modules
        if is_use_case(module.name) or module.folders.intersection(WEB)
    )
    methods = [
        member.name
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and is_one(module, node)
        for member in node.body
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_")
    ]
    once = sum(len(re.findall(rf"\.{name}\(", callers)) == 1 for name in methods)
    return f"{len(methods)} / {once}"


def _against_the_direction() -> int:
    """Return how many imports break a contract of ``lint-imports``, or are left out of one."""
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    if "Contracts:" not in ran.stdout:
        raise RuntimeError(f"lint-imports: {ran.stdout}{ran.stderr}")
    broken = re.findall(r"^ *- +\S+ -> \S+ \(l\.", ran.stdout, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    return len(broken) + sum(len(contract.get("ignore_imports", [])) for contract in contracts)


def _imported_by_search() -> str:
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTS_OF_SEARCH],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip().splitlines()[-1]


if __name__ == "__main__":
    main()
