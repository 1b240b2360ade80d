"""A credential that is refused is counted, with its route and the reason, never itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.web.api import Api, answer, problem
from tests.web.test_contract import mcp

NAMES = ("credential", "route", "code", "credentials_refused_total")


def refusals(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What was printed of refusals since the last look."""
    out = capsys.readouterr().out
    assert "cs_" not in out
    assert "wrong-" not in out
    lines = [json.loads(line) for line in out.splitlines() if '"_aws"' in line]
    return [line for line in lines if line["service"] == "access"]


def test_a_refused_credential_is_counted_with_its_route_and_code(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    agents, searching = api.mcp()["api_key"], api.new_key(scopes=["search"])["api_key"]
    managing = api.new_key(scopes=["manage"])["api_key"]
    project = f"/api/v1/projects/{api.project_id}"
    secret = {"x-internal-secret": "wrong-secret"}
    capsys.readouterr()
    problem(api("GET", "/api/v1/tables", key="wrong-key"), 401, "UNAUTHENTICATED")
    problem(api("GET", "/api/v1/tables", key=agents), 403, "PERMISSION_DENIED")
    problem(api("POST", "/api/v1/mcps", json={}, key=searching), 403, "PERMISSION_DENIED")
    problem(api.http.delete(project, headers=secret), 401, "UNAUTHENTICATED")
    problem(api.http.get("/internal/integrity", headers=secret), 401, "UNAUTHENTICATED")
    code = {"code": "wrong-code"}
    problem(api.http.post("/api/v1/console/sign-in", json=code), 401, "UNAUTHENTICATED")
    assert mcp(api, "tools/list", {}, key="wrong-key").status_code == 401
    assert mcp(api, "tools/list", {}, key=managing).status_code == 403
    by_path = mcp(api, "tools/list", {}, path="/api/v1/mcp/server/wrong-key")
    assert by_path.status_code == 401
    reported = refusals(capsys)
    assert [tuple(line[name] for name in NAMES) for line in reported] == [
        ("bearer", "GET /api/v1/tables", "UNAUTHENTICATED", [1]),
        ("bearer", "GET /api/v1/tables", "PERMISSION_DENIED", [1]),
        ("bearer", "POST /api/v1/mcps", "PERMISSION_DENIED", [1]),
        ("internal secret", "DELETE /api/v1/projects/{project_id}", "UNAUTHENTICATED", [1]),
        ("internal secret", "GET /internal/integrity", "UNAUTHENTICATED", [1]),
        ("sign-in code", "POST /api/v1/console/sign-in", "UNAUTHENTICATED", [1]),
        ("bearer", "POST /mcp", "UNAUTHENTICATED", [1]),
        ("bearer", "POST /mcp", "PERMISSION_DENIED", [1]),
        ("bearer", "POST /api/v1/mcp/server/{api_key}", "UNAUTHENTICATED", [1]),
    ]
    of_secrets = [line["internal_secrets_refused_total"] for line in reported]
    assert of_secrets == [[0], [0], [0], [1], [1], [0], [0], [0], [0]]


def test_who_shows_nothing_and_who_is_let_in_are_not_counted(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    problem(api.http.get("/api/v1/tables"), 401, "UNAUTHENTICATED")
    problem(api.http.get("/internal/integrity"), 401, "UNAUTHENTICATED")
    assert api.http.post("/mcp", json={}).status_code in (400, 401)
    answer(api("GET", "/api/v1/tables"), 200)
    answer(mcp(api, "tools/list", {}), 200)
    assert refusals(capsys) == []
