"""The index after a replacement and after its undo: only what changed is embedded again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import english, planted
from tests.functions.deployment import CANARY, Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

FOUND, BECOMES = "lighthouse", "windmill"
PLACES = (4_000, 20_000, 36_000)
TEXT = english(40_000, 7)
for _place in PLACES:
    TEXT = planted(TEXT, f"The {FOUND} keeper counted comets.", _place)
REPLACED = TEXT.replace(FOUND, BECOMES)
LEFT_ALONE = english(8_000, 8)


def embedded(capsys: pytest.CaptureFixture[str]) -> float:
    """How many chunks were embedded since the last look."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    return sum(sum(line.get("chunks_embedded_total", [])) for line in lines)


def post(deployed: Deployment, tool: dict[str, Any], path: str, body: object) -> dict[str, Any]:
    where = f"/api/v1/projects/{tool['project_id']}/replace/{path}"
    answer = deployed.http("POST", where, body, key=tool["key"])
    assert answer["statusCode"] == 200, answer
    return dict(answer["json"])


def hits(deployed: Deployment, tool: dict[str, Any], query: str) -> list[dict[str, Any]]:
    found = deployed.search(tool, query, top_k=20)
    return [hit for hit in found["results"] if hit["json_path"] == "/text"]


def is_slice(hit: dict[str, Any], text: str) -> bool:
    chunk = hit["chunk"]
    return bool(text[chunk["char_start"] : chunk["char_end"]] == chunk["chunk_text"])


def test_hits_follow_a_replacement_and_its_undo(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {"text": TEXT, "other": LEFT_ALONE}
    tool = deployed.tool(document, strategy="keyword", chunk_size=500, chunk_overlap=50)
    deployed.drain()
    before = set(deployed.documents(tool["namespace"]))
    assert len(before) > 60
    embedded(capsys)

    plan = post(deployed, tool, "preview", {"find": FOUND, "replace_with": BECOMES})
    assert plan["matches_count"] == len(PLACES)
    chosen = {"plan_id": plan["plan_id"], "digest": plan["digest"]}
    post(deployed, tool, "execute", chosen)

    # Not indexed yet: the old text answers, as one that is old.
    old = hits(deployed, tool, FOUND)
    assert len(old) >= len(PLACES)
    assert all(hit["stale"] and is_slice(hit, TEXT) for hit in old)
    assert hits(deployed, tool, BECOMES) == []

    deployed.drain()
    assert 0 < embedded(capsys) <= 4 * len(PLACES) + 2
    new = hits(deployed, tool, BECOMES)
    assert len(new) >= len(PLACES)
    assert all("stale" not in hit and is_slice(hit, REPLACED) for hit in new)
    assert hits(deployed, tool, FOUND) == []

    post(deployed, tool, f"{plan['plan_id']}/undo", {})
    deployed.drain()
    assert 0 < embedded(capsys) <= 4 * len(PLACES) + 2
    back = hits(deployed, tool, FOUND)
    assert len(back) >= len(PLACES)
    assert all("stale" not in hit and is_slice(hit, TEXT) for hit in back)
    assert hits(deployed, tool, BECOMES) == []
    path = f"/api/v1/tables/{tool['table_id']}/data"
    assert deployed.http("GET", path, key=tool["key"])["json"] == document


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
