"""The OpenAPI document and the template name the same routes, and MCP is at its two addresses."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from local.options import ROOT
from local.template import read_template
from tests.builders import english, planted
from tests.web.access.matrix import UNDOCUMENTED
from tests.web.api import CANARY, Api, answer

SENTENCE = f"The lighthouse keeper counted nine comets {CANARY}."
MODERN = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def document(api: Api) -> dict[str, Any]:
    return answer(api.http.get("/openapi.json"), 200)


def documented(api: Api) -> set[tuple[str, str]]:
    return {
        (method.upper(), path)
        for path, methods in document(api)["paths"].items()
        for method in methods
    }


def deployed() -> set[tuple[str, str]]:
    functions = read_template(ROOT / "template.yaml").functions
    return {(route.method, route.path) for spec in functions for route in spec.routes}


def test_the_contract_lists_every_deployed_route_but_mcp_and_itself(api: Api) -> None:
    others = {pair for pair in deployed() if pair[0] == "ANY"} | UNDOCUMENTED
    assert documented(api) == deployed() - others


def test_every_body_of_the_contract_forbids_unknown_fields(api: Api) -> None:
    schemas = document(api)["components"]["schemas"]
    bodies = {name: schema for name, schema in schemas.items() if name.endswith("Body")}
    assert len(bodies) >= 4
    assert {schema["additionalProperties"] for schema in bodies.values()} == {False}


def test_the_contract_is_openapi_3_1(api: Api) -> None:
    assert document(api)["openapi"].startswith("3.1")
    assert document(api)["info"]["title"] == "context-search"


def test_every_body_has_an_example_that_it_takes(api: Api) -> None:
    schemas = document(api)["components"]["schemas"]
    for name, schema in schemas.items():
        if name.endswith("Body"):
            whole = {**schema, "components": {"schemas": schemas}}
            [example] = schema["examples"]
            jsonschema.Draft202012Validator(whole).validate(example)


def test_every_answer_and_every_problem_has_a_schema(api: Api) -> None:
    served = document(api)
    names = set(served["components"]["schemas"])
    for path, methods in served["paths"].items():
        for method, operation in methods.items():
            for status, said in operation["responses"].items():
                kind = "application/json" if status[0] == "2" else "application/problem+json"
                if status == "431":  # API Gateway's own, from before any function
                    continue
                if status not in ("204", "304"):
                    name = said["content"][kind]["schema"]["$ref"].rpartition("/")[2]
                    assert name in names, (method, path, status)


def mcp(api: Api, method: str, params: dict[str, Any], path: str = "/mcp", **more: Any) -> Any:
    """A request of the modern era."""
    headers = {**MODERN, "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = params["name"]
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    return api("POST", path, json=body, headers=headers, **more)


@pytest.fixture(scope="module")
def tool(reader: Api) -> dict[str, Any]:
    """A tool of the reader."""
    return reader.tool(
        reader.table({"a": planted(english(900), SENTENCE, 400)}), name="find_comets"
    )


def test_an_agent_lists_and_calls_the_tools_of_its_project(
    reader: Api, tool: dict[str, Any]
) -> None:
    listed = answer(mcp(reader, "tools/list", {}), 200)["result"]["tools"]
    assert [found["name"] for found in listed] == ["find_comets"]
    assert listed[0]["inputSchema"]["additionalProperties"] is False
    arguments = {"query": "lighthouse comets", "top_k": 1}
    call = {"name": "find_comets", "arguments": arguments}
    result = answer(mcp(reader, "tools/call", call), 200)["result"]
    assert result["isError"] is False
    assert result["structuredContent"] == reader.search(tool, "lighthouse comets", top_k=1)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


def test_a_client_that_knows_only_an_address_puts_the_key_there(
    reader: Api, tool: dict[str, Any]
) -> None:
    path = f"/api/v1/mcp/server/{reader.key}"
    listed = answer(mcp(reader, "tools/list", {}, path, key="ignored"), 200)["result"]["tools"]
    assert [found["name"] for found in listed] == ["find_comets"]
    assert mcp(reader, "tools/list", {}, "/api/v1/mcp/server/wrong").status_code == 401


@pytest.mark.parametrize(
    "arguments",
    [{}, {"query": "x", "top_k": 0}, {"query": "x", "top_k": "5"}, {"query": "x", "fusion": "rrf"}],
    ids=repr,
)
def test_an_agents_mistake_is_a_result_that_it_can_read(
    reader: Api, tool: dict[str, Any], arguments: dict[str, Any]
) -> None:
    call = {"name": "find_comets", "arguments": arguments}
    result = answer(mcp(reader, "tools/call", call), 200)["result"]
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["code"] == "INVALID_INPUT"


def test_an_agent_sees_nothing_of_another_project(reader: Api, tool: dict[str, Any]) -> None:
    stranger = reader.stranger()
    assert answer(mcp(stranger, "tools/list", {}), 200)["result"]["tools"] == []
    call = {"name": "find_comets", "arguments": {"query": "comets"}}
    assert "Unknown tool" in mcp(stranger, "tools/call", call).text
    assert mcp(reader, "tools/list", {}, key="wrong").status_code == 401


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", ["/mcp", "/api/v1/mcp/server/wrong"])
def test_mcp_takes_posts_only(api: Api, method: str, path: str) -> None:
    response = api(method, path)
    assert (response.status_code, response.content) == (405, b"")
    assert response.headers["allow"] == "POST"
