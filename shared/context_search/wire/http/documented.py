"""What FastAPI cannot know of a route, added to its OpenAPI document: keys, problems, examples."""

from __future__ import annotations

from typing import Any

from context_search.wire.errors import PROBLEM_JSON, TITLES
from context_search.wire.http.answer_schemas import SCHEMAS
from context_search.wire.http.examples import BODY_EXAMPLES, PROBLEM_EXAMPLE
from context_search.wire.http.protected_resource import MCP, WELL_KNOWN
from context_search.wire.http.route_answers import ANSWERS, DRY_RUN
from context_search.wire.http.shapes import ref

# Routes that everybody may ask -> what they answer beside 200.
_OPEN = {
    "/healthz": set[int](),
    "/readyz": {503},
    WELL_KNOWN: {404},
    f"{WELL_KNOWN}{MCP}": {404},
}
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
    },
    "required": ["type", "title", "status", "code", "detail", "retryable", "requestId"],
    "examples": [PROBLEM_EXAMPLE],
}
_IF_MATCH = {"type": "string", "pattern": '^"(0|[1-9][0-9]{0,17})"$', "examples": ['"1"']}
_IDEMPOTENCY_KEY = {
    "type": "string",
    "pattern": "^[!-~]{1,255}$",
    "examples": ["7c1f1f6e-import-42"],
}
_HEADERS = {"if-match": _IF_MATCH, "idempotency-key": _IDEMPOTENCY_KEY}


def documented(document: dict[str, Any]) -> dict[str, Any]:
    """Returns ``document`` with credentials, problems and examples; changes it in place."""
    components = document["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    components["schemas"] |= {"Problem": _PROBLEM, **SCHEMAS}
    components["securitySchemes"] = _SECURITY
    for name, example in BODY_EXAMPLES.items():
        components["schemas"][name]["examples"] = [example]
    _exact(document)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    return document


def is_internal(method: str, path: str) -> bool:
    """Whether a route takes the internal secret, and no key."""
    return path.startswith("/internal/") or (method.upper(), path) == ("POST", "/api/v1/projects")


def _credentials(method: str, path: str) -> list[str]:
    if is_internal(method, path):
        return ["internalSecret"]
    makes_key = (method.upper(), path) == ("POST", "/api/v1/projects/{project_id}/keys")
    return ["projectKey", "internalSecret"] if makes_key else ["projectKey"]


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    if path not in _OPEN:
        operation["security"] = [{name: []} for name in _credentials(method, path)]
    if path.endswith("/data") and method in ("put", "patch"):
        content = {"application/json": {"schema": {}, "examples": {"text": {"value": "new"}}}}
        operation["requestBody"] = {"required": True, "content": content}
    for parameter in operation.get("parameters", ()):
        _mend(parameter)
    answers = operation["responses"]
    answers.pop("422", None)
    answers |= {str(status): _refusal(status) for status in _refusals(path, method, operation)}
    answer = next(answer for status, answer in answers.items() if status.startswith("2"))
    if "content" in answer:
        answer["content"] = _json(ANSWERS[path][method])
    if path == DRY_RUN:
        answers["200"] = {"description": "Of a dry run", "content": _json("Estimate")}


def _mend(parameter: dict[str, Any]) -> None:
    """A parameter is left out or a text, never null; two headers are read as lists to be strict."""
    schema = parameter["schema"]
    name = parameter["name"].lower()
    if name in _HEADERS:
        parameter["schema"] = _HEADERS[name]
    elif "anyOf" in schema:
        parameter["schema"] = next(one for one in schema["anyOf"] if one.get("type") != "null")


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": ref(name)}}


def _refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": TITLES[status], "content": {PROBLEM_JSON: {"schema": schema}}}


def _refusals(path: str, method: str, operation: dict[str, Any]) -> set[int]:
    if path in _OPEN:
        return _OPEN[path]
    has_body = "requestBody" in operation
    found = {401, 500, 503}
    if not is_internal(method, path):
        found.add(403)
    if has_body or operation.get("parameters"):
        found.add(422)
    if has_body:
        found |= {413, 415}
    if path.endswith(("/data", "/complete")):
        found.add(413)
    if "{" in path or (has_body and not is_internal(method, path)):
        found.add(404)
    is_query = path.endswith(_QUERIES) and "{" in path
    names = {parameter["name"].lower() for parameter in operation.get("parameters", ())}
    if is_query or "idempotency-key" in names:
        found.add(429)
    if "if-match" in names:
        found.add(412)
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
