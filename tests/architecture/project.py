"""The project as its own files describe it: what the tests of this folder compare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from local.cloudformation import load
from local.template import read_template

ROOT = Path(__file__).resolve().parents[2]
SOURCE_FOLDERS = ("shared", "functions", "local")
Route = tuple[str, str]


@cache
def functions() -> dict[str, dict[str, Any]]:
    """Folder name below ``functions/`` → properties of the template's function."""
    resources = load(ROOT / "template.yaml")["Resources"].values()
    found = [r["Properties"] for r in resources if r["Type"] == "AWS::Serverless::Function"]
    return {properties["CodeUri"].removeprefix("functions/"): properties for properties in found}


def triggers(function: str, kind: str) -> list[dict[str, Any]]:
    """The properties of a function's triggers of one kind: SQS or ScheduleV2."""
    events = functions()[function].get("Events", {}).values()
    return [event["Properties"] for event in events if event["Type"] == kind]


def template_routes(function: str) -> set[Route]:
    """(method, path) of every route that the template sends to the function."""
    specs = read_template(ROOT / "template.yaml").functions
    [routes] = [spec.routes for spec in specs if spec.code.name == function]
    return {(route.method, route.path) for route in routes}


def python_files(*folders: str) -> list[Path]:
    """Every module below the folders, without what was built or stored."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in paths if not set(path.parts) & {"__pycache__", "node_modules"})


def files_with(word: str, *folders: str) -> list[Path]:
    """Those of the modules that have a word in them: to find it, few have to be parsed."""
    return [path for path in python_files(*folders) if word in path.read_text()]


@cache
def parsed(path: Path) -> ast.Module:
    """The module's syntax tree, for reading only; several rules look at the same files."""
    return ast.parse(path.read_text())


def statements_in(path: Path) -> Iterator[ast.stmt]:
    """Every statement of a module, also inside of others: a tenth of its nodes."""
    waiting: list[ast.AST] = [parsed(path)]
    for node in waiting:
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            waiting += getattr(node, block, ())
        if isinstance(node, ast.stmt):
            yield node


def relative(path: Path) -> str:
    """The path as the documentation writes it."""
    return path.relative_to(ROOT).as_posix()


def functions_in(path: Path) -> Iterator[tuple[str, int]]:
    """(``file:line name``, lines without docstring) of every function of a module."""
    for node in statements_in(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if ast.get_docstring(node):
                docstring = node.body[0]
                lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
            yield f"{relative(path)}:{node.lineno} {node.name}", lines


def dependencies(file: Path) -> set[str]:
    """The distribution names that a ``.in`` file asks for."""
    lines = [line.split("#")[0].strip() for line in file.read_text().splitlines()]
    return {re.split(r"[\[<>=!~; ]", line)[0] for line in lines if line and line[0] != "-"}
