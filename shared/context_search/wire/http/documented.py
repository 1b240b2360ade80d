"""What FastAPI cannot know of a route, added to its OpenAPI document: keys, problems, examples."""

from __future__ import annotations

from typing import Any

from context_search.wire.errors import PROBLEM_JSON, TITLES
from context_search.wire.mcp.search_schema import SEARCH_OUTPUT_SCHEMA

_OPEN = ("/healthz", "/readyz")
_QUERIES = ("/search", "/explain", "/retrieve")
_SECURITY = {
    "projectKey": {"type": "http", "scheme": "bearer"},
    "internalSecret": {"type": "apiKey", "in": "header", "name": "X-Internal-Secret"},
}
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
        "errors": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
                "required": ["field", "message"],
            },
        },
    },
    "required": ["type", "title", "status", "code", "detail", "retryable"],
}
_EXAMPLES = {
    "CreateProjectBody": {"name": "acme"},
    "CreateTableBody": {"project_id": 1, "name": "library", "data": {"title": "Letters"}},
    "CreateSearchToolBody": {"project_id": 1, "table_id": 1, "name": "search_library"},
    "SearchBody": {"query": "Who counted comets?", "top_k": 3},
    "RetrieveBody": {"query": "Who counted comets?", "maxTokens": 600},
    "SettingsBody": {"maxTokens": 3000},
}


def documented(document: dict[str, Any]) -> dict[str, Any]:
    """Returns ``document`` with credentials, problems and examples; changes it in place."""
    components = document["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["schemas"] |= {"Problem": _PROBLEM, "SearchAnswer": dict(SEARCH_OUTPUT_SCHEMA)}
    components["securitySchemes"] = _SECURITY
    for name, example in _EXAMPLES.items():
        components["schemas"][name]["examples"] = [example]
    _exact(document)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    return document


def is_internal(method: str, path: str) -> bool:
    """Whether a route takes the internal secret, and no key."""
    return path.startswith("/internal/") or (method.upper(), path) == ("POST", "/api/v1/projects")


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    if path not in _OPEN:
        name = "internalSecret" if is_internal(method, path) else "projectKey"
        operation["security"] = [{name: []}]
    if path.endswith("/data") and method in ("put", "patch"):
        content = {"application/json": {"schema": {}, "examples": {"text": {"value": "new"}}}}
        operation["requestBody"] = {"required": True, "content": content}
    for parameter in operation.get("parameters", ()):
        _mend(parameter)
    answers = operation["responses"]
    answers.pop("422", None)
    answers |= {str(status): _refusal(status) for status in _refusals(path, method, operation)}
    if path.endswith("/tools/{tool_id}/search"):
        schema = {"$ref": "#/components/schemas/SearchAnswer"}
        answers["200"]["content"] = {"application/json": {"schema": schema}}


def _mend(parameter: dict[str, Any]) -> None:
    """A parameter is left out or a text, never null; an If-Match is a revision."""
    schema = parameter["schema"]
    if parameter["name"].lower() == "if-match":
        parameter["schema"] = {"type": "string", "pattern": '^(W/)?"[0-9]{1,18}"$'}
    elif "anyOf" in schema:
        parameter["schema"] = next(one for one in schema["anyOf"] if one.get("type") != "null")


def _refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": TITLES[status], "content": {PROBLEM_JSON: {"schema": schema}}}


def _refusals(path: str, method: str, operation: dict[str, Any]) -> set[int]:
    if path in _OPEN:
        return {503} if path == "/readyz" else set()
    has_body = "requestBody" in operation
    found = {401, 503}
    if not is_internal(method, path):
        found.add(403)
    if has_body or operation.get("parameters"):
        found.add(422)
    if has_body:
        found.add(413)
    if "{" in path or (has_body and not is_internal(method, path)):
        found.add(404)
    is_query = path.endswith(_QUERIES) and "{" in path
    if is_query:
        found.add(429)
    if "/projects/{" in path or (method != "get" and not is_query):
        found.add(409)
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
