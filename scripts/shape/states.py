"""Which modules write the state of a plan, of a generation, or of a node."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.shape.modules import WEB, Module


@dataclass(frozen=True, slots=True)
class Noun:
    """Something with a state: its class, its table, and the states that nothing near it shares."""

    of_class: str
    table: str
    states: frozenset[str]


PLAN = Noun(
    "Plan",
    "replace_plan",
    # Not "done", which the tables of a plan can be too.
    frozenset({"previewing", "ready", "executing", "partial", "failed", "cancelled", "expired"}),
)
GENERATION = Noun(
    "Generation",
    "index_generation",
    frozenset({"queued", "building", "active", "previous", "retired"}),
)
NODE = Noun(
    "NodeUpsert",
    "node",
    frozenset({"queued", "claimed", "indexed", "quarantined", "skipped"}),
)

# Of what a statement gives to its rows.
_END = r"(?:\bWHERE\b|\bFROM\b|;|\"\"\")"


def writers(noun: Noun, modules: list[Module], root: Path) -> set[str]:
    """Return the modules and SQL files that give a noun a state which they name.

    In SQL that is an UPDATE that sets ``state``, or an INSERT. In Python it is a ``state=`` of
    ``replace`` or of a class, in a module that mentions the noun's class. What comes in as a
    parameter is chosen elsewhere; routes and tools of agents only show a state.
    """
    in_python = {
        module.name
        for module in modules
        if _in_sql(noun, module.text)
        or (module.folders.isdisjoint(WEB) and _in_python(noun, module))
    }
    files = (root / "shared").rglob("*.sql")
    return in_python | {str(path) for path in files if _in_sql(noun, path.read_text())}


def _in_sql(noun: Noun, text: str) -> bool:
    state = rf"'(?:{'|'.join(sorted(noun.states))})'"
    table = rf"(?:\w+\.)?{noun.table}\b"
    updates = re.findall(rf"UPDATE\s+{table}[\w\s]*?\sSET\b(.*?){_END}", text, re.DOTALL)
    columns = r"[^(]*\([^)]*\bstate\b[^)]*\)"
    inserts = re.findall(rf"INSERT\s+INTO\s+{table}{columns}(.*?){_END}", text, re.DOTALL)
    return any(re.search(rf"\bstate\s*=\s*{state}", given) for given in updates) or any(
        re.search(state, given) for given in inserts
    )


def _in_python(noun: Noun, module: Module) -> bool:
    if not re.search(rf"\b{noun.of_class}\b", module.text):
        return False
    return any(
        isinstance(node, ast.Constant) and node.value in noun.states
        for value in _assigned(module.tree)
        for node in ast.walk(value)
    )


def _assigned(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield what ``state`` becomes in ``replace(…, state=…)`` and ``SomeClass(…, state=…)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name == "replace" or name[0].isupper():
                yield from (word.value for word in node.keywords if word.arg == "state")
