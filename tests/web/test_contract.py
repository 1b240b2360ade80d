"""The OpenAPI document and the template name the same routes, and MCP is at its two addresses."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]

from local.options import ROOT
from local.template import read_template
from tests.builders import english, planted
from tests.web.access.matrix import UNDOCUMENTED
from tests.web.agent import Agent
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


def test_the_contract_lists_every_deployed_route_but_mcp_and_itself(api: Api) -> None:
    paths = document(api)["paths"].items()
    documented = {(method.upper(), path) for path, methods in paths for method in methods}
    functions = read_template(ROOT / "template.yaml").functions
    deployed = {(route.method, route.path) for spec in functions for route in spec.routes}
    assert documented == {pair for pair in deployed if pair[0] != "ANY"} - UNDOCUMENTED


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


def test_an_agent_lists_and_calls_the_tools_of_its_project(api: Api) -> None:
    tool = api.tool(api.table({"a": planted(english(900), SENTENCE, 400)}), name="find_comets")
    someone = Agent(api, {"api_key": api.key})
    listed = someone.listed()
    assert list(listed)[-1] == "find_comets"
    assert listed["find_comets"]["inputSchema"]["additionalProperties"] is False
    arguments = {"query": "lighthouse comets", "top_k": 1}
    assert someone.done("find_comets", arguments) == api.search(tool, "lighthouse comets", top_k=1)
