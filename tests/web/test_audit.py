"""Who did what: one line each, with ids only."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.api import SECRET, Api, answer, problem


def audited(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The fields of each line so far."""
    return [vars(one) for one in caplog.records if one.getMessage() == "audited"]


def test_an_mcp_instance_leaves_a_line_when_it_is_made_changed_and_deleted(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    mcp = api.mcp()
    path = f"/api/v1/mcps/{mcp['id']}"
    [key] = answer(api("GET", f"{path}/keys"), 200)["keys"]
    answer(api("PATCH", path, json={"replace": "propose"}), 200)
    problem(api("PATCH", path, json={"replace": "all"}), 422, "INVALID_INPUT")
    assert api("DELETE", path).status_code == 204
    problem(api("DELETE", path), 404, "NOT_FOUND")
    lines = audited(caplog)
    assert [(line["action"], line["target_id"]) for line in lines] == [
        ("mcp made", mcp["id"]),
        ("key made", key["id"]),
        ("mcp changed", mcp["id"]),
        ("mcp deleted", mcp["id"]),
    ]
    assert {line["project_id"] for line in lines} == {api.project_id}
    assert all(line["actor"].startswith("key:") for line in lines)


def test_keys_and_deletions_leave_a_line(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    keys = f"{api.project}/keys"
    table_id = api.table(1)["id"]
    caplog.clear()
    key_id = answer(api("POST", keys, json={}), 201)["id"]
    answer(api("POST", f"{keys}/{key_id}/rotate"), 201)
    assert api("DELETE", f"{keys}/{key_id}").status_code == 204
    table = f"/api/v1/tables/{table_id}"
    answer(api("PATCH", table, json={"url_template": None}), 200)
    assert api("DELETE", table).status_code == 204
    secret = {"x-internal-secret": SECRET}
    gone = api("DELETE", api.project, key=None, headers=secret)
    assert gone.status_code == 204
    lines = audited(caplog)
    assert [(line["action"], line["target_id"]) for line in lines] == [
        ("key made", key_id),
        ("key rotated", key_id),
        ("key revoked", key_id),
        ("table changed", table_id),
        ("table deleted", table_id),
        ("project deleted", api.project_id),
    ]
    assert {line["project_id"] for line in lines} == {api.project_id}
    assert all(line["actor"].startswith("key:") for line in lines[:5])
    assert lines[5]["actor"] == "internal"
