"""Nothing private leaves through a log, a metric or a print, whichever function is called how."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.composition.parts import parts
from context_search.ranking.search import query_hash
from tests.builders import english, planted
from tests.functions.deployment import CANARY, SECRET, Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words")]
QUESTION = f"comets of {CANARY}"
# The key of the document, and so the pointer of its string, is private too.
DOCUMENT = {f"{CANARY} key": planted(english(900), f"Nine comets {CANARY}.", 400), "b": CANARY}


def ask(deployed: Deployment, tool: dict[str, Any], way: str, **more: Any) -> dict[str, Any]:
    return ask_at(deployed, tool, f"/api/v1/tools/{tool['tool_id']}/{way}", **more)


def ask_at(deployed: Deployment, tool: dict[str, Any], path: str, **more: Any) -> dict[str, Any]:
    body = {"query": QUESTION}
    return deployed.http("POST", path, body, key=tool["key"], function="search", **more)


def mcp(deployed: Deployment, tool: dict[str, Any], name: str) -> int:
    """A call over MCP with the key in the path."""
    call: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": {"query": QUESTION}},
    }
    headers = {"accept": "application/json, text/event-stream"}
    path = f"/api/v1/mcp/server/{tool['key']}"
    answer = deployed.http("POST", path, call, headers=headers, function="search")
    return int(answer["statusCode"])


def spoil(deployed: Deployment, tool: dict[str, Any]) -> list[int]:
    """Requests that fail, each in another way, with something private in each."""
    key, path = tool["key"], f"/api/v1/tables/{tool['table_id']}/data"
    secret = {"x-internal-secret": f"{SECRET}x"}
    pointer: dict[str, Any] = {"rawQueryString": f"pointer=/{CANARY}/nowhere"}
    answers = [
        deployed.http("GET", path, key=f"{key}{CANARY}"),
        deployed.http("GET", path, key=key, **pointer),
        deployed.http("PUT", path, {CANARY: "\x00" + CANARY}, key=key),
        deployed.http("POST", "/api/v1/projects", {"name": CANARY}, headers=secret),
        deployed.http("POST", "/api/v1/tables", {CANARY: CANARY}, key=key),
    ]
    return [answer["statusCode"] for answer in answers]


def test_nothing_private_is_in_what_the_functions_write(
    deployed: Deployment, capsys: pytest.CaptureFixture[str], log: list[str]
) -> None:
    tool = deployed.tool(DOCUMENT)
    project = f"/api/v1/projects/{tool['project_id']}"
    started = deployed.http("POST", f"{project}/search-index", {}, key=tool["key"])
    assert started["statusCode"] == 202
    deployed.drain()
    for way in ("search", "search/explain", "retrieve"):
        assert CANARY in ask(deployed, tool, way)["body"]
        assert CANARY in ask_at(deployed, tool, f"{project}/{way}")["body"]
    assert mcp(deployed, tool, "search") == 200
    assert mcp(deployed, tool, f"{CANARY}") in (200, 400, 404)
    assert spoil(deployed, tool) == [401, 404, 422, 401, 422]
    assert len(deployed.send(json.dumps({"kind": CANARY}))) == 1
    deployed.functions["cleanup"].invoke({})
    printed = capsys.readouterr()
    reported = "\n".join([*log, printed.out, printed.err])
    assert "searched" in reported  # it does log
    assert CANARY not in reported
    assert tool["key"] not in reported
    assert "cs_" not in reported


def test_a_question_is_logged_as_its_keyed_hash_and_under_the_id_of_its_request(
    deployed: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    tool = deployed.tool(DOCUMENT)
    deployed.drain()
    ask(deployed, tool, "search", headers={"x-request-id": "from-the-caller"})
    [line] = [vars(record) for record in caplog.records if record.msg == "searched"]
    assert line["query_hash"] == query_hash(parts().settings.query_hash_key, QUESTION)
    assert line["query_hash"] != query_hash("", QUESTION)
    assert line["request_id"] == "from-the-caller"
