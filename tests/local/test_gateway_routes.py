"""Which route of several an HTTP API chooses."""

from __future__ import annotations

import pytest

from local.routes import RouteTable
from local.template import RouteSpec
from tests.local.tiny import tiny_function

TABLE = RouteTable(
    [
        tiny_function(
            lambda *_: None,
            routes=(
                RouteSpec("ANY", "/mcp"),
                RouteSpec("GET", "/tools/{tool_id}"),
                RouteSpec("POST", "/tools/search"),
                RouteSpec("ANY", "/tools/{tool_id}"),
                RouteSpec("GET", "/tools/{tool_id}/chunks/{chunk}"),
                RouteSpec("GET", "/files/{name}"),
            ),
        )
    ]
)


@pytest.mark.parametrize(
    ("method", "path", "route_key", "parameters"),
    [
        ("POST", "/tools/search", "POST /tools/search", {}),
        ("GET", "/tools/search", "GET /tools/{tool_id}", {"tool_id": "search"}),
        ("PUT", "/tools/7", "ANY /tools/{tool_id}", {"tool_id": "7"}),
        ("DELETE", "/mcp", "ANY /mcp", {}),
        (
            "GET",
            "/tools/7/chunks/a b",
            "GET /tools/{tool_id}/chunks/{chunk}",
            {"tool_id": "7", "chunk": "a b"},
        ),
        ("GET", "/files/a", "GET /files/{name}", {"name": "a"}),
    ],
)
def test_the_most_specific_route_wins(
    method: str, path: str, route_key: str, parameters: dict[str, str]
) -> None:
    match = TABLE.match(method, path)
    assert match is not None
    assert match.route_key == route_key
    assert match.path_parameters == parameters


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/mcp/"),
        ("GET", "/files/"),
        ("GET", "/files/a/b"),
        ("GET", "/tools//chunks/1"),
        ("POST", "/tools/1/chunks/2"),
        ("GET", "/Tools/1"),
    ],
)
def test_what_no_route_names_is_not_found(method: str, path: str) -> None:
    assert TABLE.match(method, path) is None
