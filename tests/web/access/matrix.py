"""The access matrix: every route of the product, who may use it, and where ids travel in it.

A marker such as ``"{tool_id}"`` in a path, a query or a body stands for an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Ids = Mapping[str, Any]
Operation = tuple[str, str]

OPEN: frozenset[str] = frozenset()
TRUSTED = frozenset({"internal secret"})
SEARCH = frozenset({"search"})
MANAGE = frozenset({"manage"})
REPLACE = frozenset({"replace"})
READ = SEARCH | MANAGE
ANY_SCOPE = SEARCH | MANAGE | REPLACE

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


NAMES = frozenset({"set_name"})
"""What travels like an id and is a name that each project gives: it cannot be somebody else's."""

_QUERY = {"query": "harbour"}
_OUTLINE = {"tool_id": "{tool_id}", "cursor": "{after_child}"}
_OWN_PAGE = {"after_tool": 200, "after_key": 200, "after_mcp": 200, "after_binding": 200}
_TABLES = "/api/v1/tables/{table_id}"
_UPLOADS = f"{_TABLES}/uploads"
_VERSIONS = f"{_TABLES}/versions"
_VERSION = f"{_VERSIONS}/{{revision}}"
_TOOLS = "/api/v1/tools/{tool_id}"
_PROJECTS = "/api/v1/projects/{project_id}"
_REPLACE = f"{_PROJECTS}/replace"
_PLAN = f"{_REPLACE}/{{plan_id}}"
_MCPS = "/api/v1/mcps/{mcp_id}"
_IN_PROJECT = {"project_id": "{project_id}", "name": "x"}
_BINDING = {"tool_id": "{free_tool_id}"}
_KEYS = {"cursor": "{after_key}"}
_INTERNAL_TOOL = "/internal/tools/{tool_id}"
_INTERNAL_INDEX = "/internal/projects/{project_id}/search-index"
_NO_INDEX = {"project_id": 409}  # a project that is not there has no index either

ROWS: Mapping[Operation, Row] = {
    ("GET", "/healthz"): Row(OPEN, 200),
    ("GET", "/readyz"): Row(OPEN, 200),
    ("GET", "/openapi.json"): Row(OPEN, 200),
    ("GET", "/console"): Row(OPEN, 200),
    # No issuer is configured.
    ("GET", "/.well-known/oauth-protected-resource"): Row(OPEN, 404),
    ("GET", "/.well-known/oauth-protected-resource/mcp"): Row(OPEN, 404),
    ("POST", "/api/v1/projects"): Row(TRUSTED, 201, {"name": "x"}),
    ("DELETE", _PROJECTS): Row(TRUSTED, 204),
    ("GET", "/api/v1/whoami"): Row(ANY_SCOPE, 200),
    ("POST", "/api/v1/tables"): Row(MANAGE, 201, {**_IN_PROJECT, "data": 1}),
    ("GET", "/api/v1/tables"): Row(
        MANAGE, 200, query={"cursor": "{after_table}"}, looks={"after_table": 200}
    ),
    ("GET", _TABLES): Row(MANAGE, 200),
    ("DELETE", _TABLES): Row(MANAGE, 204),
    ("GET", f"{_TABLES}/data"): Row(MANAGE, 200),
    ("DELETE", f"{_TABLES}/data"): Row(MANAGE, 200, query={"pointer": "/strings/0"}),
    ("PUT", f"{_TABLES}/data"): Row(MANAGE, 200, {"strings": ["harbour"]}),
    ("PATCH", f"{_TABLES}/data"): Row(MANAGE, 200, {}),
    ("POST", f"{_TABLES}/data/read"): Row(MANAGE, 200, {}),
    ("GET", f"{_TABLES}/outline"): Row(MANAGE, 200, query=_OUTLINE, looks={"after_child": 200}),
    ("POST", f"{_TABLES}/outline"): Row(MANAGE, 200, _OUTLINE, looks={"after_child": 200}),
    ("POST", f"{_TABLES}/text"): Row(MANAGE, 200, {"json_pointer": "/strings/0"}),
    ("POST", f"{_TABLES}/data/replace"): Row(MANAGE, 200, {"value": {"strings": ["harbour"]}}),
    ("POST", f"{_TABLES}/data/merge"): Row(MANAGE, 200, {"patch": {"strings": ["harbour"]}}),
    ("POST", f"{_TABLES}/data/remove"): Row(MANAGE, 200, {"json_pointer": "/strings/0"}),
    ("POST", _UPLOADS): Row(MANAGE, 201, {"format": "json", "size": 1}),
    ("GET", f"{_UPLOADS}/{{upload_id}}"): Row(MANAGE, 200),
    ("POST", f"{_UPLOADS}/{{upload_id}}/complete"): Row(MANAGE, 202),
    ("GET", _VERSIONS): Row(
        MANAGE, 200, query={"cursor": "{below_revision}"}, looks={"below_revision": 200}
    ),
    ("DELETE", _VERSIONS): Row(MANAGE, 204),
    ("GET", _VERSION): Row(MANAGE, 200),
    ("PATCH", _VERSION): Row(MANAGE, 200, {"label": "x"}),
    ("DELETE", _VERSION): Row(MANAGE, 204),
    ("GET", f"{_VERSION}/data"): Row(MANAGE, 200),
    ("GET", f"{_VERSION}/diff"): Row(
        MANAGE,
        200,
        query={"cursor": "{after_difference}"},
        looks={"after_difference": 200},
    ),
    ("POST", f"{_VERSION}/restore"): Row(MANAGE, 200),
    ("POST", "/api/v1/tools/search"): Row(MANAGE, 201, {**_IN_PROJECT, "table_id": "{table_id}"}),
    ("GET", "/api/v1/tools"): Row(
        READ, 200, query={"cursor": "{after_tool}", "table_id": "{table_id}"}, looks=_OWN_PAGE
    ),
    ("GET", _TOOLS): Row(READ, 200),
    ("PATCH", _TOOLS): Row(MANAGE, 200, {"name": "x"}),
    ("DELETE", _TOOLS): Row(MANAGE, 204),
    ("GET", f"{_TOOLS}/search-index"): Row(READ, 200),
    ("GET", f"{_TOOLS}/search-index/nodes"): Row(
        READ, 200, query={"cursor": "{after_string}"}, looks={"after_string": 200}
    ),
    ("POST", f"{_TOOLS}/chunks"): Row(
        READ,
        200,
        {"json_pointer": "/a", "cursor": "{after_chunk}"},
        looks={"after_chunk": 200},
    ),
    ("POST", f"{_TOOLS}/search-index/rebuild"): Row(MANAGE, 202),
    # Nothing has been rebuilt yet that one could go back from.
    ("POST", f"{_TOOLS}/search-index/rollback"): Row(MANAGE, 409),
    ("POST", f"{_TOOLS}/search-index/clear"): Row(MANAGE, 200, query={"shared": "true"}),
    ("POST", f"{_TOOLS}/search-index/retry"): Row(MANAGE, 200),
    ("POST", f"{_TOOLS}/search"): Row(SEARCH, 200, _QUERY),
    ("POST", f"{_TOOLS}/search/explain"): Row(SEARCH, 200, _QUERY),
    ("POST", f"{_TOOLS}/retrieve"): Row(SEARCH, 200, _QUERY),
    ("POST", f"{_PROJECTS}/search"): Row(
        SEARCH,
        200,
        {**_QUERY, "tables": ["{table_id}"], "strategy": "keyword", "cursor": "{cursor}"},
        looks={"table_id": 422, "cursor": 422},  # a cursor is good for its own question only
    ),
    ("POST", f"{_PROJECTS}/search/explain"): Row(
        SEARCH, 200, {**_QUERY, "tables": ["{table_id}"]}, looks={"table_id": 200}
    ),
    ("POST", f"{_PROJECTS}/retrieve"): Row(SEARCH, 200, _QUERY),
    ("POST", f"{_PROJECTS}/reindex"): Row(MANAGE, 202),
    ("GET", f"{_PROJECTS}/health"): Row(READ, 200),
    ("GET", f"{_PROJECTS}/judged-sets"): Row(MANAGE, 200),
    ("GET", f"{_PROJECTS}/judged-sets/{{set_name}}"): Row(MANAGE, 200),
    ("PUT", f"{_PROJECTS}/judged-sets/{{set_name}}"): Row(MANAGE, 200, {"lines": ""}),
    ("DELETE", f"{_PROJECTS}/judged-sets/{{set_name}}"): Row(MANAGE, 204),
    ("POST", f"{_PROJECTS}/measures"): Row(
        READ, 200, {"questions": [{"relevant": [], "base": []}]}
    ),
    ("POST", f"{_PROJECTS}/search-index"): Row(MANAGE, 202),
    ("GET", f"{_PROJECTS}/search-index"): Row(READ, 200),
    ("DELETE", f"{_PROJECTS}/search-index"): Row(MANAGE, 204),
    ("GET", f"{_PROJECTS}/search-index/nodes"): Row(
        MANAGE,
        200,
        query={"cursor": "{table_id}.{after_string}", "table_id": "{table_id}"},
        looks={"after_string": 200},
    ),
    ("POST", f"{_PROJECTS}/search-index/retry"): Row(MANAGE, 200, {"table_id": "{table_id}"}),
    ("GET", f"{_PROJECTS}/retrieval-settings"): Row(READ, 200),
    ("PATCH", f"{_PROJECTS}/retrieval-settings"): Row(MANAGE, 200, {"topK": 7}),
    ("GET", f"{_PROJECTS}/history-settings"): Row(MANAGE, 200),
    ("PATCH", f"{_PROJECTS}/history-settings"): Row(MANAGE, 200, {"keep_days": 9}),
    ("POST", f"{_REPLACE}/preview"): Row(
        REPLACE,
        200,
        {
            "find": "harbour",
            "replace_with": "x",
            "tables": ["{table_id}"],
            "tool_id": "{tool_id}",
        },
    ),
    ("GET", _REPLACE): Row(
        REPLACE, 200, query={"cursor": "{below_plan}"}, looks={"below_plan": 200}
    ),
    ("GET", _PLAN): Row(
        REPLACE, 200, query={"cursor": "{after_planned}"}, looks={"after_planned": 200}
    ),
    ("GET", f"{_PLAN}/matches"): Row(
        REPLACE,
        200,
        query={"cursor": "{after_match}", "table_id": "{table_id}"},
        looks={"after_match": 200, "table_id": 200},  # a plan has no matches in other tables
    ),
    ("POST", f"{_REPLACE}/execute"): Row(
        REPLACE,
        200,
        {"plan_id": "{plan_id}", "digest": "{digest}", "except_tables": ["{table_id}"]},
        looks={"digest": 409, "table_id": 422},
    ),
    # Nothing was executed yet that could be undone.
    ("POST", f"{_PLAN}/undo"): Row(REPLACE, 409, {}),
    ("DELETE", _PLAN): Row(REPLACE, 204),
    ("POST", f"{_PROJECTS}/keys"): Row(MANAGE | TRUSTED, 201, {}),
    ("GET", f"{_PROJECTS}/keys"): Row(MANAGE, 200, query=_KEYS, looks=_OWN_PAGE),
    ("DELETE", f"{_PROJECTS}/keys"): Row(MANAGE, 200, query={"actor": "token"}),
    ("DELETE", f"{_PROJECTS}/keys/{{key_id}}"): Row(MANAGE, 204),
    ("POST", f"{_PROJECTS}/keys/{{key_id}}/rotate"): Row(MANAGE, 201, {}),
    ("POST", "/api/v1/console/codes"): Row(MANAGE, 201),
    # Nobody has made this code.
    ("POST", "/api/v1/console/sign-in"): Row(OPEN, 401, {"code": "x"}),
    ("POST", "/api/v1/mcps"): Row(MANAGE, 201, {**_IN_PROJECT, "bindings": [_BINDING]}),
    ("GET", "/api/v1/mcps"): Row(MANAGE, 200, query={"cursor": "{after_mcp}"}, looks=_OWN_PAGE),
    ("GET", _MCPS): Row(MANAGE, 200),
    ("PATCH", _MCPS): Row(MANAGE, 200, {"name": "x"}),
    ("DELETE", _MCPS): Row(MANAGE, 204),
    ("POST", f"{_MCPS}/bindings"): Row(MANAGE, 201, _BINDING),
    ("GET", f"{_MCPS}/bindings"): Row(
        MANAGE, 200, query={"cursor": "{after_binding}"}, looks=_OWN_PAGE
    ),
    ("PATCH", f"{_MCPS}/bindings/{{tool_id}}"): Row(MANAGE, 200, {"status": True}),
    ("DELETE", f"{_MCPS}/bindings/{{tool_id}}"): Row(MANAGE, 204),
    ("POST", f"{_MCPS}/keys"): Row(MANAGE, 201, {}),
    ("GET", f"{_MCPS}/keys"): Row(MANAGE, 200, query=_KEYS, looks=_OWN_PAGE),
    ("DELETE", f"{_MCPS}/keys/{{key_id}}"): Row(MANAGE, 204),
    ("POST", f"{_MCPS}/keys/{{key_id}}/rotate"): Row(MANAGE, 201, {}),
    ("GET", "/internal/mcp-v2/{api_key}"): Row(TRUSTED, 200),
    ("POST", "/internal/projects/{project_id}/adopt"): Row(
        TRUSTED, 200, query={"cursor": "{tool_id}"}, looks={"tool_id": 200}
    ),
    ("GET", "/internal/integrity"): Row(TRUSTED, 200),
    ("POST", "/internal/index/redrive"): Row(TRUSTED, 200),
    ("POST", f"{_INTERNAL_TOOL}/search"): Row(TRUSTED, 200, _QUERY),
    ("POST", f"{_INTERNAL_TOOL}/retrieve"): Row(TRUSTED, 200, _QUERY),
    ("GET", f"{_INTERNAL_TOOL}/chunks/stats"): Row(TRUSTED, 200),
    ("DELETE", f"{_INTERNAL_TOOL}/chunks"): Row(TRUSTED, 200, query={"shared": "true"}),
    ("POST", f"{_INTERNAL_TOOL}/chunks/rebuild"): Row(TRUSTED, 202),
    # Nothing has been rebuilt yet that one could go back from.
    ("GET", "/internal/projects"): Row(TRUSTED, 200, query={"cursor": "{after_project}"}),
    ("POST", "/internal/rebuild"): Row(TRUSTED, 202, query={"cursor": "{after_index}"}),
    ("GET", "/internal/rebuild"): Row(TRUSTED, 200),
    ("POST", f"{_INTERNAL_TOOL}/chunks/rollback"): Row(TRUSTED, 409),
    ("POST", f"{_INTERNAL_INDEX}/rebuild"): Row(TRUSTED, 202, looks=_NO_INDEX),
    ("POST", f"{_INTERNAL_INDEX}/rollback"): Row(TRUSTED, 409, looks=_NO_INDEX),
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
    assert "{" not in template, template
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
        yield from (piece.split("}")[0] for piece in template.split("{")[1:])


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


SEARCHES = "search"
"""The row of every Search Tool: an agent calls it by a name of its own."""


@dataclass(frozen=True)
class AgentRow:
    """A tool of agents: with which ``replace`` of their MCP instance they have it, and calls of it.

    Each call reaches for strings that no Search Tool of the agent returns any more. Those of
    ``bounded`` are done with what the agent still sees, those of ``stale`` are refused.
    """

    opened_by: frozenset[str]
    bounded: tuple[Mapping[str, Any], ...] = ()
    stale: tuple[Mapping[str, Any], ...] = ()


EXECUTE = frozenset({"execute"})
PROPOSE = EXECUTE | {"propose"}
_LETTER = {"find": "a", "replace_with": "x", "case_sensitive": False}
_WORD = {"find": "harbour", "replace_with": "haven"}
AGENT_ROWS: Mapping[str, AgentRow] = {
    SEARCHES: AgentRow(
        PROPOSE | {"off"},
        ({"query": "harbour salary pin", "top_k": 20}, {"query": "harbour", "status": "draft"}),
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
    ),
    "replace_execute": AgentRow(EXECUTE, stale=({"plan_id": "{plan_id}", "digest": "{digest}"},)),
    "replace_undo": AgentRow(EXECUTE, stale=({"plan_id": "{executed_id}"},)),
}
