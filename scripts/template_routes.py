"""Writes the routes of the HTTP API into template.yaml: those that the functions serve.

python -m scripts.template_routes
"""

from __future__ import annotations

import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

from fastapi import APIRouter
from fastapi.routing import APIRoute

from local.template import ANY_METHOD, INTEGRATION, INTEGRATIONS

TEMPLATE = Path(__file__).resolve().parents[1] / "template.yaml"
FUNCTIONS = ("create_tool", "search")
_PATHS = re.compile(r"(?m)(?<=^ {8}paths:\n)(?:\n* {10}.*\n)+")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
Route = tuple[str, str]


def served_routes(function: str) -> list[Route]:
    """Return (method, path) of every route that a function serves; all methods are ANY."""
    routers: list[APIRouter] = import_module(f"functions.{function}.app").ROUTERS
    return [
        (method, route.path)
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in _methods(route)
    ]


def _methods(route: APIRoute) -> list[str]:
    methods = route.methods or set()
    return ["ANY"] if {*_METHODS} <= methods else sorted(methods)


def with_routes(template: str) -> str:
    """Return the template with the routes that there are.

    Raise ValueError for one served twice, and where the template has no place for them.
    """
    paths = defaultdict[str, dict[str, str]](dict)
    for function in FUNCTIONS:
        for method, path in served_routes(function):
            if method in paths[path]:
                raise ValueError(f"{method} {path} is served twice")
            paths[path][method] = function
    lines = [line for path in sorted(paths) for line in _lines(path, paths[path])]
    found = _PATHS.search(template)
    if found is None:
        raise ValueError("template.yaml has no paths")
    written = "".join(f"{' ' * 10}{line}\n" for line in lines)
    return f"{template[: found.start()]}{written}{template[found.end() :]}"


def _lines(path: str, functions: dict[str, str]) -> list[str]:
    lines = [f'"{path}":' if "{" in path else f"{path}:"]
    for method in sorted(functions, key=[*_METHODS, "ANY"].index):
        key = ANY_METHOD if method == "ANY" else method.lower()
        target = f'"#/components/{INTEGRATIONS}/{functions[method]}"'
        lines.append(f"  {key}: {{ {INTEGRATION}: {{ $ref: {target} }} }}")
    return lines


if __name__ == "__main__":
    TEMPLATE.write_text(with_routes(TEMPLATE.read_text("utf-8")), "utf-8")
