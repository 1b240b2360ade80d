"""Agents that filter: what they are told of the fields of a tool that opts in, and get."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from mcp import Client

from tests.builders import english
from tests.mcp.asgi import serving
from tests.mcp.test_python_client import MODES, Mode, ask
from tests.web.agent import Agent, Era, agent
from tests.web.api import SMALL, Api, answer, problem

LETTERS = [
    {"status": "draft", "year": 1901, "by": "hidden", "body": f"The ferry left. {english(60, 1)}"},
    {"status": "public", "year": 1902, "by": "Lin", "body": f"The ferry left. {english(60, 2)}"},
    {"status": "public", "year": 1903, "作者": ["Lin", "Yu"], "body": f"A ferry. {english(60, 3)}"},
]
PUBLIC = {"status": {"eq": "public"}}
OPTED_IN = {"filterable": ["status", "year", "by", "作者"], "agents_may_filter": True}


def reading(
    api: Api, config: dict[str, Any], era: Era = "2026-07-28", letters: object = None
) -> Agent:
    tool = api.tool(api.table(letters or LETTERS), {**SMALL, **config}, name="letters")
    return agent(api, tool, era=era, replace="off")


def described(reader: Agent) -> dict[str, Any]:
    """The arguments of the one tool beside query and top_k."""
    [tool] = reader.listed().values()
    properties: dict[str, Any] = tool["inputSchema"]["properties"]
    return {name: each for name, each in properties.items() if name not in ("query", "top_k")}


def found(reader: Agent, **conditions: object) -> set[str]:
    done = reader.done("letters", {"query": "ferry", **conditions})
    return {hit["json_path"].split("/")[1] for hit in done["results"]}


@pytest.mark.parametrize("era", ["2026-07-28", "2025-11-25"])
def test_an_agent_filters_by_the_fields_of_a_tool_that_opts_in(api: Api, era: Era) -> None:
    reader = reading(api, OPTED_IN, era)
    fields = described(reader)
    assert {name: each["type"] for name, each in fields.items()} == {
        "status": "string",
        "year_min": "number",
        "year_max": "number",
        "by": "string",
        "field_4": "string",
    }
    assert fields["status"]["enum"] == ["draft", "public"]
    assert fields["field_4"]["enum"] == ["Lin", "Yu"]
    assert "“作者”" in fields["field_4"]["description"]
    assert found(reader) == {"0", "1", "2"}
    assert found(reader, status="public") == {"1", "2"}
    assert found(reader, year_min=1902, year_max=1902.5) == {"1"}
    assert found(reader, field_4="Yu") == {"2"}
    assert found(reader, status="draft", by="Lin") == set()


def test_what_where_hides_is_neither_shown_nor_found(api: Api) -> None:
    reader = reading(api, {**OPTED_IN, "where": PUBLIC})
    fields = described(reader)
    assert fields["status"]["enum"] == ["public"]
    assert fields["by"]["enum"] == ["Lin"]
    assert "Seen: 1902 to 1903." in fields["year_min"]["description"]
    assert "hidden" not in json.dumps(fields)
    assert found(reader) == {"1", "2"}
    assert found(reader, by="hidden") == set()
    assert reader.done("letters", {"query": "ferry", "by": "hidden"})["hint"] == "no_match"


def test_values_that_a_person_would_not_see_are_not_shown(api: Api) -> None:
    texts = ["x" * 10_000, "x" * 200, "a\u202eb", "ignore\nall", "\U000e0041"]
    letters = [
        {"status": each, "year": [1], "body": f"The ferry left. {english(60, n)}"}
        for n, each in enumerate(texts)
    ]
    reader = reading(api, OPTED_IN, letters=letters)
    fields = described(reader)
    assert set(fields) == {"status", "year_min", "year_max", "by", "field_4"}
    assert set(fields["status"]) == {"type", "description", "maxLength"}
    assert len(json.dumps(fields, ensure_ascii=False)) < 2_000
    assert found(reader, status="ignore\nall") == {"3"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"status": "x" * 10_000},
        {"status": ["public"]},
        {"status": {"eq": "public"}},
        {"status": 1},
        {"year_min": "1901"},
        {"year_min": 10**400},
        {"year": 1901},
        {"filter": PUBLIC},
        {"price": "1"},
    ],
)
def test_an_argument_that_is_none_is_refused(
    reading_agent: Agent, arguments: dict[str, object]
) -> None:
    report = reading_agent.refused("letters", {"query": "ferry", **arguments})
    assert report["code"] == "INVALID_INPUT"
    assert "public" not in report["message"]


@pytest.mark.parametrize("given", ['"year_min": NaN', '"status": "a", "status": "b"'])
def test_a_call_that_is_no_json_is_refused(reading_agent: Agent, given: str) -> None:
    arguments = f'{{"query": "ferry", {given}}}'
    params = f'{{"name": "letters", "arguments": {arguments}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    key, headers = reading_agent.mcp["api_key"], {"mcp-protocol-version": "2025-11-25"}
    refused = reading_agent.api("POST", "/mcp", key=key, content=body, headers=headers)
    assert refused.json()["error"]["code"] == -32700


def test_a_number_that_is_infinite_is_refused(reading_agent: Agent) -> None:
    arguments = '{"query": "ferry", "year_min": 1e400}'
    params = f'{{"name": "letters", "arguments": {arguments}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    key, headers = reading_agent.mcp["api_key"], {"mcp-protocol-version": "2025-11-25"}
    result = reading_agent.api("POST", "/mcp", key=key, content=body, headers=headers).json()
    assert json.loads(result["result"]["content"][0]["text"])["code"] == "INVALID_INPUT"


@pytest.fixture
def reading_agent(api: Api) -> Agent:
    return reading(api, {**OPTED_IN, "filterable": ["status", "year"]})


def test_before_anything_is_indexed_fields_have_no_values(api: Api) -> None:
    made = api.unindexed_tool(api.table([]), {**SMALL, **OPTED_IN}, name="letters")
    fields = described(agent(api, made, replace="off"))
    assert {each["type"] for each in fields.values()} == {"string"}
    assert "enum" not in json.dumps(fields)


def test_a_service_that_serves_the_tools_itself_is_told_of_no_fields(api: Api) -> None:
    """It searches over HTTP, which takes ``filter``."""
    reader = reading(api, OPTED_IN)
    reported = answer(api.internally("GET", f"/internal/mcp-v2/{reader.mcp['api_key']}"), 200)
    [bound] = reported["bound_tools"]
    assert set(bound["tool"]["input_schema"]["properties"]) == {"query", "top_k"}


def test_a_tool_says_whether_agents_may_filter(api: Api) -> None:
    for config, expected in ((OPTED_IN, True), ({}, False)):
        made = api.tool(api.table(LETTERS), {**SMALL, **config})
        shown = answer(api("GET", f"/api/v1/tools/{made['tool_id']}"), 200)
        assert shown["search_config"]["agents_may_filter"] is expected


def test_a_tool_whose_agents_would_filter_by_nothing_is_not_made(api: Api) -> None:
    body = {"project_id": api.project_id, "table_id": api.table([])["id"], "name": "t"}
    config = {"agents_may_filter": True, "where": PUBLIC}
    refused = api("POST", "/api/v1/tools/search", json={**body, "search_config": config})
    problem(refused, 422, "INVALID_INPUT")


# ---- With the official client, over a socket.


@pytest.fixture(scope="module")
def url(app: FastAPI) -> Iterator[str]:
    with serving(app) as address:
        yield address


@MODES
def test_the_official_client_lists_filters_and_gets_only_what_passes(
    api: Api, url: str, mode: Mode
) -> None:
    reader = reading(api, {**OPTED_IN, "where": PUBLIC})

    async def filtered(client: Client) -> tuple[Any, list[Any]]:
        [tool] = (await client.list_tools()).tools
        properties = tool.input_schema["properties"]
        [status] = properties["status"]["enum"]
        calls = [{"status": status, "year_min": 1903}, {"status": "draft"}, {"year": "x" * 10_000}]
        return properties, [
            await client.call_tool(tool.name, {"query": "ferry", **each}) for each in calls
        ]

    properties, [one, none, refused] = ask(url, mode, filtered, key=reader.mcp["api_key"])
    assert "year_max" in properties
    assert [hit["json_path"] for hit in one.structured_content["results"]] == ["/2/body"]
    assert none.structured_content["results"] == []
    assert refused.is_error is True
