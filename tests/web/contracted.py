"""Every answer of a test against what the OpenAPI document says of it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import httpx2
import jsonschema  # type: ignore[import-untyped]

from context_search.web.openapi import contract

_NOT_DOCUMENTED = re.compile(r"/(openapi\.json|console|mcp|api/v1/mcp/server/[^/]*)")


def hold_to_contract(response: httpx2.Response) -> None:
    """Fails for an answer without a schema, and for one that is not as its schema says.

    Clients are to expect further members of answers; here one that no schema names is wrong.
    """
    request = response.request
    path = request.url.path
    if _NOT_DOCUMENTED.fullmatch(path) or response.status_code >= 400:
        return
    said = _operation(request.method, path)["responses"].get(str(response.status_code))
    assert said is not None, (request.method, path, response.status_code)
    body = response.read()
    if "content" not in said:
        assert body == b""
        return
    name = said["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    _validator(name).validate(response.json())


@cache
def _paths() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Those without variables first."""
    found = sorted(contract()["paths"].items(), key=lambda item: item[0].count("{"))
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), methods) for path, methods in found]


def _operation(method: str, path: str) -> dict[str, Any]:
    """What is documented of a route. Raises LookupError."""
    for pattern, methods in _paths():
        if pattern.fullmatch(path) and method.lower() in methods:
            operation: dict[str, Any] = methods[method.lower()]
            return operation
    raise LookupError(f"{method} {path} is answered, but not documented")


@cache
def _validator(name: str) -> Any:
    schemas = {
        given: _closed(schema) if given.endswith("Answer") else schema
        for given, schema in contract()["components"]["schemas"].items()
    }
    whole = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
    return jsonschema.Draft202012Validator(whole)


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    return {"additionalProperties": False, **schema} if "properties" in schema else schema
