"""The Python modules that are deployed, and what their names say about them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FEATURES = frozenset(
    {
        "access",
        "agents",
        "budgets",
        "catalog",
        "context_search_editing",
        "indexing",
        "maintenance",
        "reading",
        "searching",
    }
)
WEB = frozenset({"agents", "mcp", "routes", "tools", "web"})
# Rules without I/O, adapters and composition.
NO_USE_CASES = WEB | {
    "composition",
    "core",
    "functions",
    "integrations",
    "ports",
    "postgres",
    "ranking",
    "rules",
    "sql",
    "text",
}


@dataclass(frozen=True, slots=True)
class Module:
    """One file: its dotted name, the folders above it, its text and its syntax tree."""

    name: str
    folders: frozenset[str]
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """The number of lines in the file."""
        return len(self.text.splitlines())


def read_modules(root: Path) -> list[Module]:
    """Return the modules below ``shared`` and ``functions``, sorted by name."""
    paths = [path for folder in ("shared", "functions") for path in (root / folder).rglob("*.py")]
    return sorted((_read(path, root) for path in paths), key=lambda module: module.name)


def name_of(path: Path, root: Path) -> str:
    """Return the name that imports use for a file below ``shared`` or ``functions``."""
    parts = path.relative_to(root).with_suffix("").parts
    named = parts[1:] if parts[0] == "shared" else parts
    return ".".join(part for part in named if part != "__init__")


def is_use_case(name: str) -> bool:
    """Say whether a module holds use cases: no rule, SQL, adapter, route or composition.

    Modules directly below ``context_search``, such as ``settings``, hold none.
    """
    parts = name.split(".")
    is_below_the_root = parts[0] == "context_search" and len(parts) < 3
    return not is_below_the_root and NO_USE_CASES.isdisjoint(parts)


def importers(modules: list[Module]) -> Mapping[str, set[str]]:
    """Return for each imported module the names of the modules that import it."""
    found: dict[str, set[str]] = defaultdict(set)
    for importer, imported in imports(modules).items():
        for name in imported:
            found[name].add(importer)
    return found


def imports(modules: list[Module]) -> Mapping[str, set[str]]:
    """Return for each module the others that it imports, also in functions and for types only."""
    names = {module.name for module in modules}
    return {
        module.name: {name for name in _imported(module.tree) if name in names} - {module.name}
        for module in modules
    }


def cycles(imported: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the largest groups of modules in which each one reaches all others by imports."""
    reached = {name: _reached(name, imported) for name in imported}
    found: list[set[str]] = []
    for name in imported:
        group = {other for other in reached[name] if name in reached[other]}
        if group and group not in found:
            found.append(group)
    return found


def _read(path: Path, root: Path) -> Module:
    text = path.read_text()
    folders = frozenset(path.relative_to(root).parts[:-1])
    return Module(name_of(path, root), folders, text, ast.parse(text))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _reached(start: str, imported: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*imported[start]]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imported[name]
    return found
