"""Retrieval through the deployed functions: settings in one, passages from the other."""

from __future__ import annotations

import pytest

from context_search.text.sensitive.kinds import SENSITIVE_KINDS
from tests.builders import english, planted
from tests.functions.deployment import CANARY, Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

SENTENCE = f"The keeper counted nine comets {CANARY}. Call １３８-1234-5678."
TEXT = planted(english(900), SENTENCE, 400)


def test_settings_of_one_function_rule_what_the_other_retrieves(deployed: Deployment) -> None:
    tool = deployed.tool({"report": TEXT})
    deployed.drain()
    key = tool["key"]
    [[project_id]] = deployed.sql("SELECT project_id FROM tool WHERE id = :id", id=tool["tool_id"])
    settings = f"/api/v1/projects/{project_id}/retrieval-settings"
    body = {"neighbours": 0, "maxTokens": 200, "topK": 1}
    changed = deployed.http("PATCH", settings, body, key=key, headers={"if-match": '"0"'})
    assert (changed["statusCode"], changed["headers"]["etag"]) == (200, '"1"')
    assert deployed.http("GET", settings, key=key)["json"] == changed["json"]

    path = f"/api/v1/tools/{tool['tool_id']}/retrieve"
    question = {"query": "keeper comets call", "minScore": 0.5}
    found = deployed.http("POST", path, question, key=key, function="search")
    assert found["statusCode"] == 200
    [passage] = found["json"]["results"]
    [mark] = passage["redactions"]
    assert TEXT[mark["char_start"] : mark["char_end"]] == "１３８-1234-5678"
    assert "1234" not in passage["text"]
    counts = dict.fromkeys(SENSITIVE_KINDS, 0) | {"phone": 1}
    assert found["json"]["redaction"]["counts"] == counts
    assert 0 < found["json"]["accounting"]["used"] <= 200


def test_a_foreign_project_and_a_foreign_tool_are_missing(deployed: Deployment) -> None:
    tool = deployed.tool({"report": TEXT})
    _, key = deployed.project()
    path = f"/api/v1/tools/{tool['tool_id']}/retrieve"
    found = deployed.http("POST", path, {"query": "comets"}, key=key, function="search")
    assert (found["statusCode"], found["json"]["code"]) == (404, "NOT_FOUND")
