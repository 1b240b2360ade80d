"""Which hosts and origins MCP is served to is a setting of the deployment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from context_search.postgres.pool import Database
from context_search.web.app import http_app
from context_search.web.openapi import every_router
from tests.web.api import Api, LocalParts
from tests.web.in_process import client_of
from tests.web.test_contract import mcp

PAGE = "https://app.example"
HOST = "127.0.0.1:8787"


@pytest.fixture(scope="module")
def narrow(application_database: Database, turbopuffer_url: str) -> Iterator[Api]:
    """An API that is served to one machine and to one web page."""
    parts = LocalParts(application_database, turbopuffer_url)
    changed = {"allowed_hosts": ("127.0.0.1:*",), "allowed_origins": (PAGE,)}
    parts.settings = parts.settings.model_copy(update=changed)
    with client_of(http_app(every_router(), parts.use_cases)) as http:
        yield Api.of_new_project(http, parts)


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/mcp/server/{}"])
@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [(HOST, PAGE, 200), (HOST, "https://evil.example", 403), ("evil.example", PAGE, 421)],
)
def test_hosts_and_origins_are_those_of_the_settings(
    narrow: Api, path: str, host: str, origin: str | None, status: int
) -> None:
    narrow.http.headers = {"host": host} | ({} if origin is None else {"origin": origin})
    response = mcp(narrow, "tools/list", {}, path.format(narrow.key))
    assert response.status_code == status
    is_shared = response.headers.get("access-control-allow-origin") == PAGE
    assert is_shared == (origin == PAGE)


def test_a_browser_may_ask_first_without_a_key(narrow: Api) -> None:
    headers = {"host": HOST, "origin": PAGE, "access-control-request-method": "POST"}
    response = narrow.http.options("/mcp", headers=headers)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["access-control-allow-origin"] == PAGE
    assert "mcp-method" in response.headers["access-control-allow-headers"]
    assert response.headers["x-request-id"]
