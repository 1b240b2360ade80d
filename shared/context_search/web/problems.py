"""How errors travel: RFC 9457 problems. ``core/errors.py`` has the table of codes."""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from context_search.core.errors import ContextSearchError

if TYPE_CHECKING:  # functions without HTTP name errors in their logs, too
    from fastapi import Request

PROBLEM_JSON = "application/problem+json"
Refusal = tuple[int, dict[str, object], dict[str, str]]
"""A refused request's answer: status, body and headers."""
TITLES: Mapping[int, str] = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
"""The phrases of RFC 9110, as RFC 9457 wants the title of an ``about:blank`` problem."""


def refused(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Returns the ``responses`` of a route for these statuses.

    ``web.openapi`` adds those that follow from credentials, parameters and bodies.
    """
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": TITLES[status], "content": content} for status in sorted(statuses)
    }


def public_message(error: ContextSearchError) -> str:
    """Returns what a caller may read; what went wrong inside is described in the log only."""
    if error.status == 500:
        return "an unexpected error, see the log"
    return error.message if error.is_for_callers else "the database does not answer, try again"


def log_text(error: BaseException) -> str:
    """Returns kind and place of an unexpected error and of what caused it, for a log.

    The messages of foreign exceptions are left out: they may quote documents, questions or keys.
    """
    lines: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:  # Python lets causes go in a circle
        seen.add(id(link))
        is_ours = isinstance(link, ContextSearchError)
        lines += [*traceback.format_tb(link.__traceback__, limit=-20), f"{type(link).__qualname__}"]
        lines += [f": {link}\n" if is_ours else "\n"]
        link = link.__cause__ or link.__context__
    return "".join(lines)


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    retryable: bool = False,
    retry_after_s: float | None = None,
) -> tuple[dict[str, object], dict[str, str]]:
    """Returns the body and the headers of an RFC 9457 problem.

    ``code`` is stable. ``retryAfterMs`` and ``Retry-After`` stand there when the wait is known.
    """
    body: dict[str, object] = {
        "type": "about:blank",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "code": code,
        "detail": detail,
        "retryable": retryable,
    }
    headers: dict[str, str] = {}
    if retry_after_s is not None:
        body["retryAfterMs"] = math.ceil(retry_after_s * 1000)
        headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return body, headers


def problem_of(error: ContextSearchError) -> Refusal:
    """Returns what an error of the tree is answered."""
    body, headers = problem(
        error.status,
        error.code,
        public_message(error),
        retryable=error.retryable,
        retry_after_s=error.retry_after_s,
    )
    return error.status, {**body, **error.members}, headers


def unrouted(request: Request, methods_here: str = "") -> Refusal:
    """Returns 405 where other methods are served, else 404.

    Gets what API Gateway lets through and no route of ours takes: a path that fits one of its
    variables (``DELETE /api/v1/tools/search`` fits ``/api/v1/tools/{tool_id}``). Everything else
    without a route is its own 404.
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
    contract, path = request.app.state.contract, request.scope["path"]
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
