"""Replacing through the deployed functions, and what they log of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functions.deployment import CANARY, Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]


def post(deployed: Deployment, tool: dict[str, Any], path: str, body: object) -> dict[str, Any]:
    where = f"/api/v1/projects/{tool['project_id']}/replace/{path}"
    answer = deployed.http("POST", where, body, key=tool["key"])
    assert answer["statusCode"] == 200, answer
    return dict(answer["json"])


def test_no_line_tells_what_was_sought_or_found(deployed: Deployment, log: list[str]) -> None:
    tool = deployed.tool({CANARY: f"the {CANARY} word", "b": {CANARY: f"{CANARY}"}})
    where = f"/api/v1/projects/{tool['project_id']}/replace"

    def refused(path: str, body: object) -> str:
        answer = deployed.http("POST", f"{where}/{path}", body, key=tool["key"])
        assert answer["statusCode"] >= 400, answer
        return str(answer["json"]["code"])

    pattern = {"find": f"({CANARY}", "replace_with": CANARY, "regex": True}
    assert refused("preview", pattern) == "PATTERN_INVALID"
    template = {"find": f"({CANARY})", "replace_with": f"${{{CANARY}}}", "regex": True}
    assert refused("preview", template) == "REPLACEMENT_INVALID"

    plan = post(deployed, tool, "preview", {"find": CANARY, "replace_with": f"{CANARY} again"})
    chosen = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
    path = f"/api/v1/tables/{tool['table_id']}/data"
    changed = {CANARY: f"another {CANARY}"}
    assert deployed.http("PATCH", path, changed, key=tool["key"])["statusCode"] == 200
    assert refused("execute", chosen) == "REPLACE_STALE"
    skipping = {**chosen, "on_conflict": "skip"}
    assert post(deployed, tool, "execute", skipping)["state"] == "partial"
    assert refused("execute", chosen) == "PLAN_USED"

    plan = post(deployed, tool, "preview", {"find": CANARY, "replace_with": ""})
    chosen = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
    assert post(deployed, tool, "execute", chosen)["replaced_count"] == 2
    assert post(deployed, tool, f"{plan['plan_id']}/undo", {})["reverted_count"] == 2
    deployed.drain()
    reported = [json.loads(line)["message"] for line in log if line.startswith("{")]
    assert [each for each in reported if each in ("previewed", "executed", "undone")] == [
        *("previewed", "executed"),
        *("previewed", "executed", "undone"),
    ]
