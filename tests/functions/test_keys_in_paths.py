"""A key that travels in a path is in no log: not of a function, not of the gateway before it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from local.gateway import GatewayApp
from tests.functions.deployment import CANARY, SECRET, Deployment, listening

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
    with ThreadPoolExecutor(1) as threads, listening(lines):
        gateway: Any = GatewayApp(deployed.functions.values(), threads)
        response = TestClient(gateway).request(method, path, headers=headers)
    assert response.status_code in {401, 404, 405, 415}
    printed = capfd.readouterr()
    # The test client's own lines name what it asked for; no function has that client.
    told = "\n".join(line for line in lines if not line.startswith("HTTP Request:"))
    assert CANARY not in told + printed.out + printed.err
