"""The OpenAPI document of the whole HTTP API, whichever function serves a route.

FastAPI makes it from the routes and their models; problems are added here.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from fastapi import APIRouter

from context_search.web import console
from context_search.web.app import http_app
from context_search.web.problems import refused
from context_search.web.routers import routers_of

_PACKAGES = ("context_search", "context_search_editing")
_PROBLEM = {
    "type": "object",
    "description": "RFC 9457; `code` is stable.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "pattern": "^[A-Z_]+$"},
        "detail": {"type": "string"},
        "retryable": {"type": "boolean"},
        "retryAfterMs": {"type": "integer", "minimum": 0},
        "requestId": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
        "errors": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
                "required": ["field", "message"],
            },
        },
        "undone_by": {
            "type": "integer",
            "description": "the plan that took this one back (UNDO_EXPIRED)",
        },
        "changed_count": {
            "type": "integer",
            "minimum": 1,
            "description": "how many strings or documents are in the way (REPLACE_STALE)",
        },
        "changed": {
            "type": "array",
            "description": "the first of them",
            "items": {
                "type": "object",
                "properties": {
                    "table_id": {"type": "integer"},
                    "json_pointer": {"type": "string"},
                    "reason": {"type": "string", "pattern": "^[A-Z_]+$"},
                    "revision": {"type": ["integer", "null"]},
                    "moved_to": {"type": "string"},
                },
                "required": ["table_id", "json_pointer", "reason"],
            },
        },
    },
    "required": ["type", "title", "status", "code", "detail", "retryable", "requestId"],
    "examples": [
        {
            "type": "about:blank",
            "title": "Not Found",
            "status": 404,
            "code": "NOT_FOUND",
            "detail": "there is no such table",
            "retryable": False,
            "requestId": "9f0c2b4e7a0d4c1b8e55f3a2d6c7b801",
        }
    ],
}


_HEAD_TOO_LONG = {
    "description": "Request line and headers are over 10,240 bytes: API Gateway's own answer",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {"message": {"type": "string"}},
                "required": ["message"],
            }
        }
    },
}


@lru_cache(maxsize=1)
def contract() -> dict[str, Any]:
    """Returns the OpenAPI 3.1 document."""
    document = http_app(every_router(), None).openapi()
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = _PROBLEM
    document["paths"] = dict(sorted(document["paths"].items()))
    _exact(document)
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            for status, refusal in refused(*_refusals(operation)).items():
                operation["responses"][str(status)] = refusal
            parameters = operation.get("parameters", [])
            if any(each["name"] == "pointer" for each in parameters):
                operation["responses"]["431"] = _HEAD_TOO_LONG
            for each in parameters:
                each["schema"] = _not_null(each["schema"])
    return document


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns the schema of a parameter that may be left out: an address has no null."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    return {**kinds[0], **{name: said for name, said in schema.items() if name != "anyOf"}}


def every_router() -> list[APIRouter]:
    """Returns the routers of all features, whichever function serves them."""
    features = [
        import_module(found.name.removesuffix(".routes"))
        for package in _PACKAGES
        for found in walk_packages(import_module(package).__path__, f"{package}.")
        if found.ispkg and found.name.endswith(".routes")
    ]
    return [*routers_of(features), console.router]


def _refusals(operation: dict[str, Any]) -> set[int]:
    """What follows from credentials, parameters and body; a route says what else it refuses."""
    found: set[int] = set()
    parameters = operation.get("parameters", [])
    names = {parameter["name"].lower() for parameter in parameters}
    in_path = any(parameter["in"] == "path" for parameter in parameters)
    takes_key = {"projectKey": []} in operation.get("security", [])
    has_body = "requestBody" in operation
    if "security" in operation:
        found |= {401, 500, 503}
    if takes_key:
        found.add(403)
    if has_body or parameters:
        found.add(422)
    if has_body:
        found |= {413, 415}
    if in_path or (has_body and takes_key):
        found.add(404)
    if "idempotency-key" in names:
        found.add(429)
    if "if-match" in names:
        found.add(412)
    return found


def _exact(node: Any) -> None:
    """FastAPI keeps bounds as doubles, of which 2^63 - 1 is none."""
    if isinstance(node, dict):
        if isinstance(node.get("maximum"), float) and node["maximum"] >= 2**63 - 1:
            node["maximum"] = 2**63 - 1
        for value in node.values():
            _exact(value)
    elif isinstance(node, list):
        for value in node:
            _exact(value)
