"""Prints the shape of the deployed code: ``make shape``. A mirror, not a gate."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "shared" / "context_search"
NAME = "context_search"
IMPORTS_OF_SEARCH = """
import sys
import functions.search.app
print(sum(name.startswith("context_search") for name in sys.modules))
"""


@dataclass(frozen=True, slots=True)
class Module:
    """One file of the package: its dotted name, its text and its syntax tree."""

    name: str
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """How many lines the file has."""
        return len(self.text.splitlines())


def main() -> None:
    """Prints a line for each figure."""
    modules = list(_modules())
    with_code = [module for module in modules if module.lines > 1]
    importers = _importers(modules)
    single = [name for name, found in importers.items() if len(found) == 1]
    near = [
        name for name in single if next(iter(importers[name])).rsplit(".", 1)[0] == _parent(name)
    ]
    lines = [module.lines for module in with_code]
    functions = [size for module in modules for size in _function_lengths(module.tree)]
    methods, called_once = _port_methods(modules)
    rows = {
        "modules / lines": f"{len(with_code)} / {sum(lines):,}",
        "modules with a single importer": f"{len(single)} ({len(near)} in the same package)",
        "our modules imported by functions/search at INIT": _imported_by_search(),
        "port methods called from exactly one place": f"{called_once} of {methods}",
        "file lines median / max": f"{statistics.median(lines):g} / {max(lines)}",
        "function lines median / max": f"{statistics.median(functions):g} / {max(functions)}",
        "classes called as functions": str(_callable_classes(modules)),
    }
    width = max(map(len, rows))
    for what, figure in rows.items():
        sys.stdout.write(f"{what:<{width}}  {figure}\n")


def _modules() -> Iterator[Module]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        text = path.read_text()
        yield Module(name, text, ast.parse(text))


def _parent(name: str) -> str:
    return name.rsplit(".", 1)[0]


def _importers(modules: list[Module]) -> dict[str, set[str]]:
    """Returns for each imported module who of the package or the functions imports it."""
    names = {module.name for module in modules}
    found: dict[str, set[str]] = defaultdict(set)
    others = [
        Module(f"functions.{path.parent.name}", path.read_text(), ast.parse(path.read_text()))
        for path in sorted((ROOT / "functions").glob("*/app.py"))
    ]
    for module in [*modules, *others]:
        for target in _imports(module.tree):
            if target in names and target != module.name:
                found[target].add(module.name)
    return found


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


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


def _port_methods(modules: list[Module]) -> tuple[int, int]:
    """Returns how many methods the ports have, and how many have one caller in services."""
    ports = [module for module in modules if module.name.startswith(f"{NAME}.ports")]
    callers = "\n".join(
        module.text
        for module in modules
        if module.name.startswith((f"{NAME}.services", f"{NAME}.web"))
    )
    methods = [
        member.name
        for module in ports
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        for member in node.body
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_")
    ]
    once = sum(len(re.findall(rf"\.{name}\(", callers)) == 1 for name in methods)
    return len(methods), once


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
