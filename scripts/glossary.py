"""Writes the table of classes in docs/glossary.md: what rules and ports call their nouns.

    python -m scripts.glossary

Errors have their own table, in docs/api.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT / "shared"
PAGE = ROOT / "docs" / "glossary.md"
RULES = {"core", "text", "ranking", "rules"}
BEGIN, END = "<!-- classes -->\n", "<!-- end -->\n"


def public_classes() -> Iterator[tuple[str, str, str]]:
    """Yields name, file and the first line of what is said of every public class, by file."""
    for path in sorted(SHARED.rglob("*.py")):
        place = path.relative_to(SHARED).as_posix().removeprefix("context_search/")
        if not _has_nouns(place):
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                said = (ast.get_docstring(node) or "").split("\n\n")[0]
                yield node.name, place, " ".join(said.split())


def with_classes(page: str) -> str:
    """Returns the page with the table of today's classes."""
    rows = [
        f"| `{name}` | {_escaped(said)} | `{place}` |\n" for name, place, said in public_classes()
    ]
    before, rest = page.split(BEGIN)
    after = rest.split(END, 1)[1]
    table = "| class | is | in |\n|---|---|---|\n" + "".join(rows)
    return f"{before}{BEGIN}{table}{END}{after}"


def _has_nouns(place: str) -> bool:
    """Say whether a module holds rules or ports, but not errors."""
    *folders, name = place.removesuffix(".py").split("/")
    is_rule = not RULES.isdisjoint(folders) and name != "errors"
    return is_rule or name == "ports" or place == "store.py"


def _escaped(said: str) -> str:
    return said.replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(with_classes(PAGE.read_text("utf-8")), "utf-8")
