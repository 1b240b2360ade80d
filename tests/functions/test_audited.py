"""Who made or deleted something is in the log of the function that did it."""

from __future__ import annotations

import pytest

from tests.functions.deployment import Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words")]


def test_both_functions_write_what_is_audited(deployed: Deployment, log: list[str]) -> None:
    project_id, key = deployed.project()
    made = deployed.http("POST", f"/api/v1/projects/{project_id}/keys", {}, key=key)
    assert made["statusCode"] == 201
    instance = {"project_id": project_id, "name": "desk"}
    mcp = deployed.http("POST", "/api/v1/mcps", instance, key=key, function="search")
    assert mcp["statusCode"] == 201
    reported = [line for line in log if "audited" in line]
    assert [
        action for line in reported for action in ("key made", "mcp made") if action in line
    ] == ["key made", "mcp made", "key made"]
