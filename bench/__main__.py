"""``python -m bench`` lists the programs, ``python -m bench NAME …`` runs one."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path


def programs() -> dict[str, str]:
    """Name → what it measures (the first line of its docstring)."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    docstrings = (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) for file in files)
    return {
        file.stem: (docstring or "").partition("\n")[0]
        for file, docstring in zip(files, docstrings, strict=True)
    }


def main() -> None:
    """Run the program that the first argument names; the others are its own."""
    known = programs()
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in known:
        sys.argv = sys.argv[1:]
        runpy.run_module(f"bench.{name}", run_name="__main__", alter_sys=True)
        return
    print("\n".join(f"{program:12} {about}" for program, about in known.items()))
    if name:
        sys.exit(f"no bench is called {name}")


if __name__ == "__main__":
    main()
