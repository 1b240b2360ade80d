"""The tools that the conformance scenarios call by name, as far as a JSON tool can be one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from context_search.domain.errors import InvalidInputError
from context_search.mcp import ToolDescription, ToolResult
from tests.mcp.memory import MemoryToolbox, describe

# The schema that scenario json-schema-2020-12 wants to find again, keyword by keyword.
SCHEMA_2020_12: Mapping[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "allOf": [{"anyOf": [{"required": ["name"]}, {"required": ["address"]}]}],
    "if": {"properties": {"name": {"const": "x"}}, "required": ["name"]},
    "then": {"required": ["address"]},
    "else": {"required": ["name"]},
    "additionalProperties": False,
}


def _text(_: Mapping[str, object]) -> ToolResult:
    return ToolResult({"text": "This is a simple text response for testing."})


def _error(_: Mapping[str, object]) -> NoReturn:
    raise InvalidInputError("This tool intentionally returns an error for testing")


def fixture_toolbox() -> MemoryToolbox:
    """Tools for the scenarios that a server without images, streams and prompts can pass."""
    schema_tool = ToolDescription("json_schema_2020_12_tool", "", "Odd schema.", SCHEMA_2020_12)
    return MemoryToolbox(
        {
            "test_simple_text": (describe("test_simple_text"), _text),
            "test_error_handling": (describe("test_error_handling"), _error),
            "test_logging_tool": (describe("test_logging_tool"), _text),
            "json_schema_2020_12_tool": (schema_tool, _text),
        }
    )
