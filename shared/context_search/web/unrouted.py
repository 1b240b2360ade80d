"""Requests without a route: API Gateway sends them to the function that knows the contract."""

from __future__ import annotations

from fastapi import Request

from context_search.web.problems import problem

Answer = tuple[int, dict[str, object], dict[str, str]]


def unrouted(request: Request, methods_here: str = "") -> Answer:
    """Returns status, body and headers: 405 where other methods are served, else 404.

    ``methods_here`` is Starlette's ``Allow``, which has the methods of one route only; the
    contract, where a function has it, has those of all functions.
    """
    allow = ", ".join(sorted(_methods(request))) or methods_here
    if not allow:
        return (404, *problem(404, "NOT_FOUND", "there is no such route"))
    body, headers = problem(405, "METHOD_NOT_ALLOWED", f"this route takes {allow}")
    return 405, body, {**headers, "Allow": allow}


def misses_method(request: Request) -> bool:
    """Whether the path takes other methods, and a variable of another route has caught it.

    To API Gateway ``GET /api/v1/tools/search`` is ``GET /api/v1/tools/{tool_id}``.
    """
    methods = _methods(request)
    return bool(methods) and request.method not in methods


def _methods(request: Request) -> set[str]:
    contract, path = request.app.state.contract, request.url.path
    paths = {} if contract is None else contract()["paths"]
    if path in paths:  # OpenAPI: comes before one with variables
        return {method.upper() for method in paths[path]}
    asked = path.split("/")
    return {
        method.upper()
        for template, methods in paths.items()
        if _matches(template.split("/"), asked)
        for method in methods
    }


def _matches(template: list[str], asked: list[str]) -> bool:
    return len(template) == len(asked) and all(
        (bool(given) and wanted.startswith("{")) or given == wanted
        for wanted, given in zip(template, asked, strict=True)
    )
