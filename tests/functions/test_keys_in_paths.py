"""A key that travels in a path is in no log: not of a function, not of the gateway before it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from local.fair_threads import FairThreads
from local.gateway import GatewayApp
from tests.functions.deployment import CANARY, SECRET, Deployment, listening
from tests.web.api import exposed

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words")]

KEY = f"cs_mcp_{CANARY}"
PATHS = [f"/internal/mcp-v2/{KEY}", f"/api/v1/mcp/server/{KEY}", f"/nowhere/{KEY}"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("headers", [{}, {"x-internal-secret": SECRET}], ids=["open", "trusted"])
def test_a_key_in_a_path_is_in_no_log(
    deployed: Deployment,
    capfd: pytest.CaptureFixture[str],
    method: str,
    path: str,
    headers: dict[str, str],
) -> None:
    lines: list[str] = []
    with listening(lines):
        gateway: Any = GatewayApp(deployed.functions.values(), FairThreads(1, 1))
        response = TestClient(gateway, "http://localhost").request(method, path, headers=headers)
    assert response.status_code in {401, 404, 405, 415}
    printed = capfd.readouterr()
    # The test client's own lines name what it asked for; no function has that client.
    reported = "\n".join(line for line in lines if not line.startswith("HTTP Request:"))
    assert CANARY not in reported + printed.out + printed.err


def asked(deployed: Deployment, method: str, path: str, body: object) -> int:
    """One request through the gateway; the status."""
    gateway: Any = GatewayApp(deployed.functions.values(), FairThreads(1, 1))
    return TestClient(gateway, "http://localhost").request(method, path, json=body).status_code


def message(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_a_good_key_in_a_path_is_in_no_log_whatever_goes_wrong(
    deployed: Deployment, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    tool = deployed.tool({"a": "harbour " * 10})
    deployed.drain()
    [[project_id]] = deployed.sql("SELECT max(id) FROM project")
    bindings = [{"tool_id": tool["tool_id"]}]
    body = {"project_id": project_id, "name": "agents", "bindings": bindings}
    made = deployed.http("POST", "/api/v1/mcps", body, key=tool["key"], function="search")["json"]
    caplog.set_level(logging.DEBUG)
    call = message("tools/call", name="search", arguments={"query": "harbour"})
    for key in (made["api_key"], tool["key"]):
        path = f"/api/v1/mcp/server/{key}"
        assert asked(deployed, "POST", path, message("tools/list")) == 200
        assert asked(deployed, "POST", path, call) == 200
        assert asked(deployed, "POST", path, message("no/such")) == 200
        assert asked(deployed, "POST", path, "no message") == 400
        assert asked(deployed, "DELETE", path, None) == 405
        assert asked(deployed, "OPTIONS", path, None) == 405
        with without(deployed, "tool"):
            assert asked(deployed, "POST", path, message("tools/list")) == 200
        with without(deployed, "api_key"):
            assert asked(deployed, "POST", path, call) == 500
    printed = capfd.readouterr()
    reported = exposed(caplog.records) + printed.out + printed.err
    assert reported.count("SQLSTATE 42P01") >= 4  # what went wrong was logged
    for key in (made["api_key"], tool["key"]):
        assert key not in reported
        assert key[-20:] not in reported


@contextmanager
def without(deployed: Deployment, table: str) -> Iterator[None]:
    """A database that lacks a table for a while."""
    deployed.sql(f"ALTER TABLE {table} RENAME TO elsewhere")
    try:
        yield
    finally:
        deployed.sql(f"ALTER TABLE elsewhere RENAME TO {table}")
