"""Agents that filter: what they are told of the fields of a tool that opts in, and get."""

from __future__ import annotations

import json
from typing import Any

from tests.builders import english
from tests.web.agent import Agent, agent
from tests.web.api import SMALL, Api, answer

LETTERS = [
    {"status": "draft", "year": 1901, "by": "hidden", "body": f"The ferry left. {english(60, 1)}"},
    {"status": "public", "year": 1902, "by": "Lin", "body": f"The ferry left. {english(60, 2)}"},
    {"status": "public", "year": 1903, "作者": ["Lin", "Yu"], "body": f"A ferry. {english(60, 3)}"},
]
PUBLIC = {"status": {"eq": "public"}}
OPTED_IN = {"filterable": ["status", "year", "by", "作者"], "agents_may_filter": True}


def reading(api: Api, config: dict[str, Any]) -> Agent:
    tool = api.tool(api.table(LETTERS), {**SMALL, **config}, name="letters")
    return agent(api, tool, replace="off")


def described(reader: Agent) -> dict[str, Any]:
    """The arguments of the Search Tool beside query and top_k."""
    tool = reader.listed()["letters"]
    properties: dict[str, Any] = tool["inputSchema"]["properties"]
    return {name: each for name, each in properties.items() if name not in ("query", "top_k")}


def found(reader: Agent, **conditions: object) -> set[str]:
    done = reader.done("letters", {"query": "ferry", **conditions})
    return {hit["json_path"].split("/")[1] for hit in done["results"]}


def test_an_agent_filters_by_the_fields_of_a_tool_that_opts_in(api: Api) -> None:
    reader = reading(api, OPTED_IN)
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
    assert reader.refused("letters", {"query": "ferry", "year": 1901})["code"] == "INVALID_INPUT"


def test_an_agent_is_bound_by_its_tool_and_cannot_filter(api: Api) -> None:
    reader = reading(api, {"filterable": ["by"], "where": PUBLIC})
    assert described(reader) == {}
    assert found(reader) == {"1", "2"}
    assert reader.refused("letters", {"query": "ferry", "by": "Lin"})["code"] == "INVALID_INPUT"


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


def test_a_service_that_serves_the_tools_itself_is_told_of_no_fields(api: Api) -> None:
    """It searches over HTTP, which takes ``filter``."""
    reader = reading(api, OPTED_IN)
    reported = answer(api.internally("GET", f"/internal/mcp-v2/{reader.mcp['api_key']}"), 200)
    [bound] = reported["bound_tools"]
    assert set(bound["tool"]["input_schema"]["properties"]) == {"query", "top_k"}
