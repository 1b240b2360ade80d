"""create_tool and search behind API Gateway's events."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.builders import english, planted
from tests.functions.deployment import CANARY, SECRET, Deployment, event

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

SENTENCE = f"The lighthouse keeper counted nine comets {CANARY}."
DOCUMENT = {"report": {"text": planted(english(900), SENTENCE, 400)}}


@pytest.fixture(scope="module")
def tool(deployed: Deployment) -> dict[str, Any]:
    """A tool that is indexed."""
    made = deployed.tool(DOCUMENT)
    deployed.drain()
    return made


def problem(answer: dict[str, Any], status: int, code: str) -> None:
    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (status, code)
    assert answer["headers"]["content-type"] == "application/problem+json"
    assert answer["isBase64Encoded"] is False


@pytest.mark.parametrize(
    ("name", "function"), [("create_tool", "create_tool"), ("search", "search")]
)
def test_a_recorded_request_with_its_example_key_is_unauthenticated(
    deployed: Deployment, name: str, function: str
) -> None:
    problem(deployed.functions[function].invoke(event(name)), 401, "UNAUTHENTICATED")


def test_the_recorded_mcp_request_is_challenged(deployed: Deployment) -> None:
    answer = deployed.functions["search"].invoke(event("mcp"))
    assert answer["statusCode"] == 401
    assert answer["headers"]["www-authenticate"].startswith("Bearer")


def test_the_recorded_create_makes_a_tool(deployed: Deployment) -> None:
    project_id, key = deployed.project()
    table = {"project_id": project_id, "name": "t", "data": {"report": "short"}}
    table_id = deployed.http("POST", "/api/v1/tables", table, key=key)["json"]["id"]
    request = event("create_tool")
    request["headers"]["authorization"] = f"Bearer {key}"
    body = {**json.loads(request["body"]), "project_id": project_id, "table_id": table_id}
    request["body"] = json.dumps(body)
    answer = deployed.functions["create_tool"].invoke(request)
    made = json.loads(answer["body"])
    assert (answer["statusCode"], made["name"], made["status"]) == (
        201,
        "Search the report",
        "ready",
    )


def test_the_recorded_search_finds_the_sentence(deployed: Deployment, tool: dict[str, Any]) -> None:
    request = event("search")
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    request |= {"rawPath": path, "pathParameters": {"tool_id": str(tool["tool_id"])}}
    request["requestContext"]["http"]["path"] = path
    request["headers"]["authorization"] = f"Bearer {tool['key']}"
    request["body"] = json.dumps({"query": "lighthouse comets", "top_k": 2})
    answer = deployed.functions["search"].invoke(request)
    assert answer["statusCode"] == 200
    found = json.loads(answer["body"])
    assert "lighthouse" in found["results"][0]["chunk"]["chunk_text"]
    assert (len(found["results"]), found["retrieval"]["degraded"]) == (2, [])


@pytest.mark.parametrize("host", ["[::1]:8787", "[::1]", "[::1", "a:b:c", "a:", "", "x y", None])
def test_a_request_is_answered_whatever_its_host(deployed: Deployment, host: str | None) -> None:
    request = event("create_tool")
    request["headers"] |= {"host": host, "idempotency-key": "one"}
    if host is None:
        del request["headers"]["host"]
    problem(deployed.functions["create_tool"].invoke(request), 401, "UNAUTHENTICATED")
    request["rawPath"] = request["requestContext"]["http"]["path"] = "/api/v1/nowhere"
    problem(deployed.functions["create_tool"].invoke(request), 404, "NOT_FOUND")


def test_an_empty_idempotency_key_is_no_key(deployed: Deployment) -> None:
    request = event("create_tool")
    request |= {"routeKey": "POST /api/v1/projects", "rawPath": "/api/v1/projects"}
    request["requestContext"]["http"]["path"] = "/api/v1/projects"
    request["headers"] |= {"x-internal-secret": SECRET, "idempotency-key": ""}
    request["body"] = json.dumps({"name": "one"})
    problem(deployed.functions["create_tool"].invoke(request), 422, "INVALID_INPUT")


def test_mcp_judges_the_host_as_it_came(deployed: Deployment) -> None:
    page = "https://[::1]:8443"
    for host, status in (("[::1]:8443", 401), ("[::1]:1", 403), ("a:b:c", 403)):
        request = event("mcp")
        request["headers"] |= {"host": host, "origin": page}
        assert deployed.functions["search"].invoke(request)["statusCode"] == status


def test_the_recorded_mcp_request_lists_the_tool(
    deployed: Deployment, tool: dict[str, Any]
) -> None:
    request = event("mcp")
    request["headers"]["authorization"] = f"Bearer {tool['key']}"
    answer = deployed.functions["search"].invoke(request)
    listed = [each["name"] for each in json.loads(answer["body"])["result"]["tools"]]
    assert answer["statusCode"] == 200
    assert listed == ["read", "find_text", "outline", f"search_{tool['tool_id']}"]


def test_a_body_may_come_in_base64(deployed: Deployment) -> None:
    request = event("create_tool")
    request |= {"routeKey": "POST /api/v1/projects", "rawPath": "/api/v1/projects"}
    request["requestContext"]["http"]["path"] = "/api/v1/projects"
    request["headers"]["x-internal-secret"] = SECRET
    request |= {
        "body": base64.b64encode('{"name": "项目"}'.encode()).decode(),
        "isBase64Encoded": True,
    }
    answer = deployed.functions["create_tool"].invoke(request)
    assert (answer["statusCode"], json.loads(answer["body"])["name"]) == (201, "项目")
    assert answer["isBase64Encoded"] is False


def test_a_decoded_path_and_a_raw_query_reach_the_route(deployed: Deployment) -> None:
    project_id, key = deployed.project()
    table = {"project_id": project_id, "name": "t", "data": {"m/n": {"中 文": 7}}}
    table_id = deployed.http("POST", "/api/v1/tables", table, key=key)["json"]["id"]
    answer = deployed.http(
        "GET",
        f"/api/v1/tables/{table_id}/data",
        key=key,
        rawQueryString="pointer=%2Fm~1n%2F%E4%B8%AD+%E6%96%87",
    )
    assert (answer["statusCode"], answer["json"]) == (200, 7)
    assert answer["headers"]["etag"] == '"1"'


@pytest.mark.parametrize("function", ["create_tool", "search"])
def test_errors_of_routing_are_problems_in_text(deployed: Deployment, function: str) -> None:
    problem(deployed.http("GET", "/no/such", function=function), 404, "NOT_FOUND")
    wrong = "/api/v1/tools/search" if function == "create_tool" else "/api/v1/tools/1/search"
    problem(deployed.http("PUT", wrong, {}, function=function), 405, "METHOD_NOT_ALLOWED")


def test_no_content_has_no_body(deployed: Deployment) -> None:
    made = deployed.tool({"a": "short"})
    answer = deployed.http("DELETE", f"/api/v1/tools/{made['tool_id']}", key=made["key"])
    assert (answer["statusCode"], answer["json"]) == (204, None)


def test_a_broken_database_is_a_500_and_not_a_crash(deployed: Deployment) -> None:
    path = "/api/v1/tools/1/search"
    deployed.sql("ALTER TABLE api_key RENAME TO gone")
    try:
        problem(deployed.http("GET", "/api/v1/tables/1", key="x"), 500, "INTERNAL")
        searched = deployed.http("POST", path, {"query": "x"}, key="x", function="search")
        problem(searched, 500, "INTERNAL")
    finally:
        deployed.sql("ALTER TABLE gone RENAME TO api_key")
