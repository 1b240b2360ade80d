"""The access matrix: every route of the product, who may use it, and where ids travel in it.

Method, path, keys, status and body of a row are the route's own declaration. ``EXAMPLES`` has what
a declaration does not say. A marker such as ``"{tool_id}"`` in a path, a query or a body stands for
an id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi.routing import APIRoute

from context_search.core.callers import ToolsOffered
from context_search.web.callers import INTERNAL_SECRET, opened_by
from context_search.web.openapi import contract, every_router

Ids = Mapping[str, Any]
Operation = tuple[str, str]

OPEN: frozenset[str] = frozenset()
TRUSTED = frozenset({INTERNAL_SECRET})
ANY_SCOPE = frozenset({"search", "manage", "replace"})

UNDOCUMENTED = frozenset({("GET", "/openapi.json"), ("GET", "/console")})
MCP_PATHS = ("/mcp", "/api/v1/mcp/server/{api_key}")
MCP_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass(frozen=True)
class Row:
    """One route: whose keys open it, what a good call is answered, and an example of one.

    ``looks``: the status with a foreign or missing id in place of a marker, where it is not 404.
    """

    opened_by: frozenset[str]
    status: int
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    looks: Mapping[str, int] = field(default_factory=dict)

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of a key of which each by itself opens the route."""
        return self.opened_by - TRUSTED


@dataclass(frozen=True)
class Example:
    """What the declaration of a route does not say of a row; None: it says that."""

    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    looks: Mapping[str, int] = field(default_factory=dict)
    status: int | None = None


NAMES = frozenset({"set_name"})
"""What travels like an id and is a name that each project gives: it cannot be somebody else's."""

_QUERY = {"query": "harbour"}
_OUTLINE = {"tool_id": "{tool_id}", "cursor": "{after_child}"}
_OWN_PAGE = {"after_tool": 200, "after_key": 200, "after_mcp": 200, "after_binding": 200}
_TABLES = "/api/v1/tables/{table_id}"
_VERSIONS = f"{_TABLES}/versions"
_TOOLS = "/api/v1/tools/{tool_id}"
_PROJECTS = "/api/v1/projects/{project_id}"
_REPLACE = f"{_PROJECTS}/replace"
_PLAN = f"{_REPLACE}/{{plan_id}}"
_MCPS = "/api/v1/mcps/{mcp_id}"
_IN_PROJECT = {"project_id": "{project_id}", "name": "x"}
_BINDING = {"tool_id": "{free_tool_id}"}
_KEYS = Example(query={"cursor": "{after_key}"}, looks=_OWN_PAGE)
_INTERNAL_INDEX = "/internal/projects/{project_id}/search-index"
_NO_INDEX = {"project_id": 409}  # a project that is not there has no index either
_NOTHING_TO_GO_BACK_FROM = Example(status=409)
_NO_ISSUER = Example(status=404)

EXAMPLES: Mapping[Operation, Example] = {
    ("GET", "/.well-known/oauth-protected-resource"): _NO_ISSUER,
    ("GET", "/.well-known/oauth-protected-resource/mcp"): _NO_ISSUER,
    ("GET", "/api/v1/tables"): Example(
        query={"cursor": "{after_table}"}, looks={"after_table": 200}
    ),
    ("PATCH", _TABLES): Example({"url_template": "https://wiki.example.com"}),
    ("DELETE", f"{_TABLES}/data"): Example(query={"pointer": "/strings/0"}),
    ("PUT", f"{_TABLES}/data"): Example({"strings": ["harbour"]}),
    ("PATCH", f"{_TABLES}/data"): Example({}),
    ("POST", f"{_TABLES}/data/read"): Example({}),
    ("GET", f"{_TABLES}/outline"): Example(query=_OUTLINE, looks={"after_child": 200}),
    ("POST", f"{_TABLES}/outline"): Example(_OUTLINE, looks={"after_child": 200}),
    ("POST", f"{_TABLES}/text"): Example({"json_pointer": "/strings/0"}),
    ("POST", f"{_TABLES}/data/replace"): Example({"value": {"strings": ["harbour"]}}),
    ("POST", f"{_TABLES}/data/merge"): Example({"patch": {"strings": ["harbour"]}}),
    ("POST", f"{_TABLES}/data/remove"): Example({"json_pointer": "/strings/0"}),
    ("GET", _VERSIONS): Example(
        query={"cursor": "{below_revision}"}, looks={"below_revision": 200}
    ),
    ("GET", f"{_VERSIONS}/{{revision}}/diff"): Example(
        query={"cursor": "{after_difference}"}, looks={"after_difference": 200}
    ),
    ("POST", "/api/v1/outline"): Example(
        {"cursor": "{after_collection}"}, looks={"after_collection": 200}
    ),
    ("POST", "/api/v1/read"): Example({"cite": "{cite}"}),
    ("POST", "/api/v1/find-text"): Example(
        {"text": "harbour", "cursor": "{match}"}, looks={"match": 422}
    ),
    ("POST", "/api/v1/tools/search"): Example({**_IN_PROJECT, "table_id": "{table_id}"}),
    ("GET", "/api/v1/tools"): Example(
        query={"cursor": "{after_tool}", "table_id": "{table_id}"}, looks=_OWN_PAGE
    ),
    ("GET", f"{_TOOLS}/search-index/nodes"): Example(
        query={"cursor": "{after_string}"}, looks={"after_string": 200}
    ),
    ("POST", f"{_TOOLS}/chunks"): Example(
        {"json_pointer": "/a", "cursor": "{after_chunk}"}, looks={"after_chunk": 200}
    ),
    ("POST", f"{_TOOLS}/search-index/rollback"): _NOTHING_TO_GO_BACK_FROM,
    ("POST", f"{_TOOLS}/search-index/clear"): Example(query={"shared": "true"}),
    **dict.fromkeys(
        (
            ("POST", f"{_TOOLS}/search"),
            ("POST", f"{_TOOLS}/search/explain"),
            ("POST", f"{_TOOLS}/retrieve"),
            ("POST", f"{_PROJECTS}/retrieve"),
            ("POST", "/internal/tools/{tool_id}/search"),
            ("POST", "/internal/tools/{tool_id}/retrieve"),
        ),
        Example(_QUERY),
    ),
    ("POST", f"{_PROJECTS}/search"): Example(
        {**_QUERY, "tables": ["{table_id}"], "strategy": "keyword", "cursor": "{cursor}"},
        looks={"table_id": 422, "cursor": 422},  # a cursor is good for its own question only
    ),
    ("POST", f"{_PROJECTS}/search/explain"): Example(
        {**_QUERY, "tables": ["{table_id}"]}, looks={"table_id": 200}
    ),
    ("PUT", f"{_PROJECTS}/judged-sets/{{set_name}}"): Example(status=200),  # it is there
    ("GET", f"{_PROJECTS}/search-index/nodes"): Example(
        query={"cursor": "{table_id}.{after_string}", "table_id": "{table_id}"},
        looks={"after_string": 200},
    ),
    ("POST", f"{_PROJECTS}/search-index/retry"): Example({"table_id": "{table_id}"}),
    ("POST", f"{_REPLACE}/preview"): Example(
        {
            "find": "harbour",
            "replace_with": "x",
            "tables": ["{table_id}"],
            "tool_id": "{tool_id}",
        }
    ),
    ("GET", _REPLACE): Example(query={"cursor": "{below_plan}"}, looks={"below_plan": 200}),
    ("GET", _PLAN): Example(query={"cursor": "{after_planned}"}, looks={"after_planned": 200}),
    ("GET", f"{_PLAN}/matches"): Example(
        query={"cursor": "{after_match}", "table_id": "{table_id}"},
        looks={"after_match": 200, "table_id": 200},  # a plan has no matches in other tables
    ),
    ("POST", f"{_REPLACE}/execute"): Example(
        {"plan_id": "{plan_id}", "digest": "{digest}", "except_tables": ["{table_id}"]},
        looks={"digest": 409, "table_id": 422},
    ),
    ("POST", f"{_PLAN}/undo"): Example({}, status=409),  # nothing was executed yet
    ("GET", f"{_PROJECTS}/keys"): _KEYS,
    ("DELETE", f"{_PROJECTS}/keys"): Example(query={"actor": "token"}),
    ("POST", "/api/v1/console/sign-in"): Example(status=401),  # nobody has made this code
    ("POST", "/api/v1/mcps"): Example({**_IN_PROJECT, "bindings": [_BINDING]}),
    ("GET", "/api/v1/mcps"): Example(query={"cursor": "{after_mcp}"}, looks=_OWN_PAGE),
    ("POST", f"{_MCPS}/bindings"): Example(_BINDING),
    ("GET", f"{_MCPS}/bindings"): Example(query={"cursor": "{after_binding}"}, looks=_OWN_PAGE),
    ("GET", f"{_MCPS}/keys"): _KEYS,
    ("POST", "/internal/projects/{project_id}/adopt"): Example(
        query={"cursor": "{tool_id}"}, looks={"tool_id": 200}
    ),
    ("DELETE", "/internal/tools/{tool_id}/chunks"): Example(query={"shared": "true"}),
    ("GET", "/internal/projects"): Example(query={"cursor": "{after_project}"}),
    ("POST", "/internal/rebuild"): Example(query={"cursor": "{after_index}"}),
    ("POST", "/internal/tools/{tool_id}/chunks/rollback"): _NOTHING_TO_GO_BACK_FROM,
    ("POST", f"{_INTERNAL_INDEX}/rebuild"): Example(looks=_NO_INDEX),
    ("POST", f"{_INTERNAL_INDEX}/rollback"): Example(looks=_NO_INDEX, status=409),
}


def id_fields(schema: Mapping[str, Any], name: str = "") -> Iterator[str]:
    """The names of a body's fields that hold ids, however deep."""
    schema = _resolved(schema)
    for inner in [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])]:
        yield from id_fields(inner, name)
    for inner_name, inner in schema.get("properties", {}).items():
        yield from id_fields(inner, inner_name)
    is_id = (schema.get("minimum"), schema.get("maximum")) == (1, 2**63 - 1)
    if is_id or name in ("cursor", "digest", "cite"):
        yield name


def body_schema(operation: Operation) -> Mapping[str, Any]:
    """What the OpenAPI document says of a route's body; empty where it takes none."""
    method, path = operation
    described = contract()["paths"].get(path, {}).get(method.lower(), {})
    content = described.get("requestBody", {}).get("content", {})
    schema: Mapping[str, Any] = content.get("application/json", {}).get("schema", {})
    return schema


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    named: Mapping[str, Any] = contract()["components"]["schemas"][schema["$ref"].split("/")[-1]]
    return named


def _example_body(operation: Operation) -> Any:
    """The document's own example of a body, with markers where it has ids."""
    schema = body_schema(operation)
    ids = {*id_fields(schema)}
    examples = _resolved(schema).get("examples", [None])
    return _marked(examples[0], ids)


def _marked(value: Any, ids: set[str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {inner: _marked(each, ids, inner) for inner, each in value.items()}
    if isinstance(value, list):
        return [_marked(each, ids, name) for each in value]
    return f"{{{name}}}" if name in ids else value


def _row(route: APIRoute, operation: Operation) -> Row:
    said = EXAMPLES.get(operation, Example())
    return Row(
        opened_by(route.dependant),
        said.status or route.status_code or 200,
        _example_body(operation) if said.body is None else said.body,
        said.query,
        said.looks,
    )


ROWS: Mapping[Operation, Row] = {
    (method, route.path): _row(route, (method, route.path))
    for router in every_router()
    for route in router.routes
    if isinstance(route, APIRoute) and route.path not in MCP_PATHS
    for method in sorted(route.methods or ())
}

PUBLIC = sorted(pair for pair, row in ROWS.items() if row.opened_by - TRUSTED)
SCOPED = [pair for pair in PUBLIC if ROWS[pair].scopes != ANY_SCOPE]
BOTH = sorted(pair for pair, row in ROWS.items() if row.scopes and row.opened_by > row.scopes)
INTERNAL = sorted(pair for pair, row in ROWS.items() if row.opened_by == TRUSTED)
EVERYBODYS = sorted(pair for pair, row in ROWS.items() if row.opened_by == OPEN)


def has_ids(operation: Operation) -> bool:
    """Says whether a call names anything that could be somebody else's."""
    row = ROWS[operation]
    return any(True for part in (operation[1], row.query, row.body) for _ in markers(part))


def ids_of(operation: Operation, ids: Ids) -> dict[str, Any]:
    """The ids for one route: below an instance, keys are the instance's."""
    if not operation[1].startswith(_MCPS):
        return dict(ids)
    return {**ids, "key_id": ids["mcp_key_id"], "after_key": ids["after_mcp_key"]}


def filled(template: Any, ids: Ids) -> Any:
    """A path, a query or a body with ids in the place of their markers."""
    if isinstance(template, Mapping):
        return {name: filled(value, ids) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(value, ids) for value in template]
    if not isinstance(template, str):
        return template
    if template[1:-1] in ids and template == f"{{{template[1:-1]}}}":
        return ids[template[1:-1]]  # an id in a body stays a number
    for name, value in ids.items():
        template = template.replace(f"{{{name}}}", str(value))
    assert not [*markers(template)], template
    return template


def markers(template: Any) -> Iterator[str]:
    """The names of the ids in a path, a query or a body."""
    if isinstance(template, Mapping):
        for value in template.values():
            yield from markers(value)
    elif isinstance(template, list):
        for value in template:
            yield from markers(value)
    elif isinstance(template, str):
        yield from re.findall(r"\{(\w+)\}", template)


def request_of(operation: Operation, ids: Ids) -> dict[str, Any]:
    """The example call of a row with these ids, as arguments of an HTTP client."""
    method, path = operation
    row = ROWS[operation]
    request: dict[str, Any] = {"method": method, "path": filled(path, ids)}
    if row.query:
        request["params"] = filled(row.query, ids)
    if row.body is not None:
        request["json"] = filled(row.body, ids)
    return request


def swaps(operation: Operation) -> list[frozenset[str]]:
    """Which ids of a row become somebody else's: each by itself, and all of them."""
    row = ROWS[operation]
    names = frozenset([*markers(operation[1]), *markers(row.query), *markers(row.body)]) - NAMES
    one_each = [frozenset({name}) for name in sorted(names)]
    return one_each + [names] * (len(names) > 1)


def expected(row: Row, swapped: frozenset[str]) -> int:
    """The status when these ids are not the caller's: the first that is refused decides."""
    return next((404 for name in swapped if name not in row.looks), 0) or max(
        row.looks[name] for name in swapped
    )


SEARCHES = "a Search Tool"
"""The row of every Search Tool: an agent calls it by a name of its own."""


@dataclass(frozen=True)
class AgentRow:
    """A tool of agents: with which ``replace`` of their MCP instance they have it, and calls of it.

    Each call reaches for strings that no Search Tool of the agent returns any more. Those of
    ``bounded`` are done with what the agent still sees, those of ``missing`` find nothing, and
    those of ``stale`` are refused. ``tools``: which instances have it.
    """

    opened_by: frozenset[str]
    bounded: tuple[Mapping[str, Any], ...] = ()
    stale: tuple[Mapping[str, Any], ...] = ()
    missing: tuple[Mapping[str, Any], ...] = ()
    tools: tuple[ToolsOffered, ...] = ("named",)

    def code(self, call: Mapping[str, Any]) -> str | None:
        """What a call is refused with."""
        if call in self.missing:
            return "NOT_FOUND"
        return "REPLACE_STALE" if call in self.stale else None


EXECUTE = frozenset({"execute"})
PROPOSE = EXECUTE | {"propose"}
READ = PROPOSE | {"off"}
_NOT_ALONE: tuple[ToolsOffered, ...] = ("named", "single")
_LETTER = {"find": "a", "replace_with": "x", "case_sensitive": False}
_WORD = {"find": "harbour", "replace_with": "haven"}
AGENT_ROWS: Mapping[str, AgentRow] = {
    SEARCHES: AgentRow(
        READ,
        ({"query": "harbour salary pin", "top_k": 20}, {"query": "harbour", "status": "draft"}),
    ),
    "search": AgentRow(
        READ,
        (
            {"query": "harbour salary pin", "top_k": 20},
            {"queries": ["salary of the master", "pin 7788"]},
            {"query": "harbour", "collection": "{search_tool}"},
        ),
        tools=("connector", "single"),
    ),
    "fetch": AgentRow(READ, missing=({"id": "{cite}"},), tools=("connector",)),
    "read": AgentRow(
        READ,
        ({"cite": "{cite}"},),
        missing=({"collection": "{search_tool}", "pointer": "/articles/1/text"},),
        tools=_NOT_ALONE,
    ),
    "find_text": AgentRow(
        READ,
        (
            {"text": "harbour"},
            {"text": "salary of the master", "context_chars": 500},
            {"pattern": "(?i)salary|pin"},
            {"text": "a", "collection": "{search_tool}"},
        ),
        tools=_NOT_ALONE,
    ),
    "outline": AgentRow(
        READ,
        (
            {},
            {"collection": "{search_tool}"},
            {"collection": "{search_tool}", "pointer": "/articles"},
        ),
        missing=({"collection": "{search_tool}", "pointer": "/articles/1"},),
        tools=_NOT_ALONE,
    ),
    "replace_preview": AgentRow(
        PROPOSE,
        (
            _LETTER,
            {**_LETTER, "search_tool": "{search_tool}"},
            {"find": "draft", "replace_with": "public"},
            {"find": "public", "replace_with": "draft"},
        ),
        ({**_WORD, "plan_id": "{plan_id}"},),
        tools=_NOT_ALONE,
    ),
    "replace_execute": AgentRow(
        EXECUTE, stale=({"plan_id": "{plan_id}", "digest": "{digest}"},), tools=_NOT_ALONE
    ),
    "replace_undo": AgentRow(EXECUTE, stale=({"plan_id": "{executed_id}"},), tools=_NOT_ALONE),
}
