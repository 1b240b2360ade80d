"""The contract of ChatGPT's connectors: ``search`` and ``fetch``, by JSON Schema and a client.

As OpenAI documents it in 2026 (developers.openai.com/api/docs/mcp): one string each as argument;
results as ``structuredContent`` and as the same object in one text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp_types import CallToolResult, TextContent

from tests.e2e.library import COMETS, PLACES, QUESTIONS, VIOLIN, library
from tests.e2e.running import Era, Running, Tenant

pytestmark = pytest.mark.stack
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
TEMPLATE = "https://library.example/{table_id}?at={pointer}&from={start}&to={end}"
WHOLE = 50_000
"""Characters up to which ``fetch`` returns a string whole."""

_TEXT = {"type": "string", "minLength": 1}
_URL = {"type": "string", "pattern": "^https?://[^/]+/"}
SEARCHED = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": _TEXT, "title": _TEXT, "url": _URL},
                "required": ["id", "title", "url"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["results"],
    "additionalProperties": False,
}
FETCHED = {
    "type": "object",
    "properties": {
        "id": _TEXT,
        "title": _TEXT,
        "text": _TEXT,
        "url": _URL,
        "metadata": {"type": "object"},
    },
    "required": ["id", "title", "text", "url"],
    "additionalProperties": False,
}


def argument(name: str) -> dict[str, Any]:
    """What a schema of one required string has to say, whatever else describes the string."""
    return {
        "type": "object",
        "properties": {
            "type": {"const": "object"},
            "properties": {
                "type": "object",
                "properties": {
                    name: {
                        "type": "object",
                        "properties": {"type": {"const": "string"}},
                        "required": ["type"],
                    }
                },
                "required": [name],
                "additionalProperties": False,
            },
            "required": {"const": [name]},
        },
        "required": ["type", "properties", "required"],
    }


@dataclass(frozen=True, slots=True)
class Connector:
    """A client that knows the contract and nothing else of this server."""

    agent: Tenant
    era: Era

    def search(self, query: str) -> list[dict[str, str]]:
        """Returns the results of a search."""
        found = self._call("search", {"query": query}, SEARCHED)
        return list(found["results"])

    def fetch(self, name: str) -> dict[str, Any]:
        """Returns what an id of a result stands for."""
        return self._call("fetch", {"id": name}, FETCHED)

    def _call(self, tool: str, arguments: dict[str, Any], schema: object) -> dict[str, Any]:
        result = self.agent.call_tool(self.era, tool, arguments)
        assert result.is_error is False, result
        jsonschema.Draft202012Validator(schema).validate(result.structured_content)
        assert json.loads(text_of(result)) == result.structured_content
        return dict(result.structured_content)


def text_of(result: CallToolResult) -> str:
    """The one text item that a result has."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.fixture(scope="module")
def agent(stack: Running) -> Tenant:
    """A connector over the library, whose places have addresses in an application of the owner."""
    tenant = stack.project()
    table_id = tenant.table(library(), url_template=TEMPLATE)
    tool = tenant.tool(table_id)
    tenant.ready(tool)
    return tenant.mcp(tool["tool_id"], tools="connector")


@ERAS
def test_a_connector_has_two_tools_that_read_with_one_argument_each(
    agent: Tenant, era: Era
) -> None:
    tools = {tool.name: tool for tool in agent.list_tools(era)}
    assert tools.keys() == {"search", "fetch"}
    for name, only in (("search", "query"), ("fetch", "id")):
        jsonschema.Draft202012Validator(argument(only)).validate(tools[name].input_schema)
        jsonschema.Draft202012Validator.check_schema(tools[name].output_schema)
        annotations = tools[name].annotations
        assert annotations is not None
        assert (annotations.read_only_hint, annotations.destructive_hint) == (True, False)


@ERAS
def test_what_a_search_finds_is_fetched_whole(agent: Tenant, era: Era) -> None:
    connector = Connector(agent, era)
    best = connector.search(QUESTIONS[COMETS])[0]
    pointer, at = PLACES[COMETS]
    assert pointer in unquote(best["url"])
    fetched = connector.fetch(best["id"])
    text = library()["books"][0]["text"]
    assert len(text) <= WHOLE
    assert fetched["text"] == text
    assert fetched["text"].index(COMETS) == at
    assert fetched["title"] == best["title"]


def test_windows_of_a_long_string_lead_to_each_other(agent: Tenant) -> None:
    connector = Connector(agent, "2026-07-28")
    text = library()["books"][1]["text"]
    assert len(text) > WHOLE
    best = connector.search(QUESTIONS[VIOLIN])[0]
    window = connector.fetch(best["id"])
    assert VIOLIN in window["text"]
    assert window["text"] in text
    while "previous" in window.get("metadata", {}):
        window = connector.fetch(window["metadata"]["previous"])
    read = window["text"]
    while "next" in window["metadata"]:
        window = connector.fetch(window["metadata"]["next"])
        read += window["text"]
    assert read == text


@ERAS
def test_an_id_of_nothing_is_an_error_that_a_model_can_read(agent: Tenant, era: Era) -> None:
    result = agent.call_tool(era, "fetch", {"id": "nothing"})
    assert result.is_error is True
    assert {"code", "message"} <= json.loads(text_of(result)).keys()
