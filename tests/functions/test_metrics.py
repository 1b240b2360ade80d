"""The metrics that functions print while they work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.core.errors import EmbeddingUnavailableError
from tests.builders import english
from tests.functions.deployment import Deployment, event, failures

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]


def metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What was printed in the embedded metric format since the last look: name → values."""
    return metrics_of(capsys.readouterr().out)


def metrics_of(out: str) -> dict[str, Any]:
    lines = [json.loads(line) for line in out.splitlines() if '"_aws"' in line]
    assert all(
        line["service"] in ("create-tool", "index-node", "cleanup", "billed") for line in lines
    )
    found: dict[str, Any] = {}
    for line in lines:
        for definition in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]:
            found.setdefault(definition["Name"], []).extend(line[definition["Name"]])
    return found


def test_indexing_and_cleanup_print_what_they_did(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = deployed.tool({"a": english(900), "b": english(400, 2)})
    deployed.drain()
    printed = metrics(capsys)
    chunks = len(deployed.documents(tool["namespace"]))
    assert printed["nodes_indexed_total"] == [1, 1]
    assert sum(printed["chunks_embedded_total"]) == chunks
    assert printed["chunks_reused_total"] == [0, 0]
    for name in ("embedding", "upload"):
        assert all(0 < seconds < 60 for seconds in printed[f"{name}_duration_seconds"])
    assert all(0 <= age < 600 for age in printed["queue_age_seconds"])

    deployed.functions["cleanup"].invoke(event("cleanup"))
    out = capsys.readouterr().out
    assert '"row_security_off":1' in out.replace(" ", "")  # these functions own the tables
    printed = metrics_of(out)
    assert printed["active_chunks_total"] == deployed.sql("SELECT count(*) FROM chunks")[0]
    assert printed["nodes_in_quarantine"] == printed["indexes_evicted"] == [0]
    assert printed["outbox_age_seconds"] == [0]


def test_a_provider_that_is_away_is_counted_by_its_code(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    deployed.tool({"a": english(300)})
    failures.append(EmbeddingUnavailableError("away"))
    [message] = deployed.receive()
    assert deployed.index([message]) == {message["MessageId"]}
    out = capsys.readouterr().out
    lines = [json.loads(line) for line in out.splitlines() if '"_aws"' in line]
    [failed] = [line for line in lines if line.get("retries_total") == [1.0]]
    assert failed["order_errors_total"] == [1.0]
    assert failed["code"].startswith("EMBEDDING_")
    assert failed["embedding_model"] == "words/model"


def test_what_search_serves_of_management_is_counted_like_the_rest_of_it(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    project_id, key = deployed.project()
    body = {"project_id": project_id, "name": "agents"}
    made = deployed.http("POST", "/api/v1/mcps", body, key=key, function="search")["json"]
    keys = f"/api/v1/mcps/{made['id']}/keys"
    [first] = deployed.http("GET", keys, key=key, function="search")["json"]["keys"]
    capsys.readouterr()
    for method, below, status in (
        ("POST", "/keys", 201),
        ("GET", "/keys", 200),
        ("POST", "/keys/{key_id}/rotate", 201),
        ("DELETE", "/keys/{key_id}", 204),
        ("DELETE", "", 204),
    ):
        route = f"/api/v1/mcps/{{mcp_id}}{below}"
        path = route.format(mcp_id=made["id"], key_id=first["id"])
        content: object = {} if method == "POST" else None
        answer = deployed.http(
            method, path, content, key=key, function="search", routeKey=f"{method} {route}"
        )
        assert answer["statusCode"] == status
        [line] = [
            json.loads(said) for said in capsys.readouterr().out.splitlines() if "_aws" in said
        ]
        assert (line["route"], line["service"]) == (f"{method} {route}", "create-tool")
        assert (line["requests_total"], line["requests_failed_total"]) == ([1], [0])


def test_a_search_is_not_counted_as_management(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("/api/v1/tools/1/search", "/mcp", "/api/v1/mcps/1/unknown"):
        deployed.http("POST", path, {}, key="nobody's", function="search")
    assert "requests_total" not in capsys.readouterr().out


def test_management_prints_requests_by_route_and_never_a_path(
    deployed: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = deployed.tool({"a": english(300), "b": english(200, 3)})
    printed = metrics(capsys)
    assert printed["tools_created_total"] == [1]
    assert sum(printed["requests_total"]) == len(printed["request_duration_seconds"]) == 3
    path = f"/api/v1/tools/{tool['tool_id']}"
    deployed.http("GET", path, key="nobody's", routeKey="GET /api/v1/tools/{tool_id}")
    printed_lines = capsys.readouterr().out.splitlines()
    refusal, line = [json.loads(text) for text in printed_lines if "_aws" in text]
    assert (refusal["service"], refusal["credentials_refused_total"]) == ("access", [1])
    assert (line["route"], line["service"]) == ("GET /api/v1/tools/{tool_id}", "create-tool")
    assert refusal["route"] == line["route"]
    assert (line["requests_refused_total"], line["requests_failed_total"]) == ([1], [0])
    assert (line["status"], line["code"]) == (401, "UNAUTHENTICATED")
    assert 0 < line["request_duration_seconds"][0] < 60
    assert path not in json.dumps([refusal, line])
    deployed.drain()
