"""The tools that the conformance scenarios call by name, as far as a JSON tool can be one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from context_search.core.callers import McpKey
from context_search.core.errors import InvalidInputError
from context_search.mcp.contract import (
    ClientInput,
    Form,
    InputRequired,
    RequestStateError,
    ToolDescription,
    ToolResult,
)
from context_search_editing.agents.confirmations import Confirmations, PlanOperation
from testing.in_memory.clock import ManualClock
from tests.mcp.memory import Asking, MemoryToolbox, describe

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


_CONFIRMATIONS = Confirmations("key of the fixture", ManualClock())
_CALLER = McpKey(1, 1)


def _asking(*names: str) -> Asking:
    """A tool that asks one question after the other; its states are those that we deploy."""

    def ask(client: ClientInput) -> ToolResult | InputRequired:
        at = next((at for at, name in enumerate(names) if name in client.answers), -1)
        state = client.state  # some scenarios answer without
        if state is not None and not _CONFIRMATIONS.is_good(state, _CALLER, _operation(at)):
            raise RequestStateError
        if at + 1 == len(names):
            return ToolResult({"text": "state-ok"})
        next_state = _CONFIRMATIONS.state_of(_CALLER, _operation(at + 1))
        return InputRequired({names[at + 1]: Form("Who is asked?", _FORM)}, next_state)

    return ask


_FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


def _operation(step: int) -> PlanOperation:
    return PlanOperation("execute", 1 + max(step, 0), bytes(16))


def fixture_toolbox() -> MemoryToolbox:
    """Tools for the scenarios that a server without images, streams and prompts can pass."""
    asking = {
        "test_input_required_result_elicitation": _asking("user_name"),
        "test_input_required_result_request_state": _asking("confirm"),
        "test_input_required_result_tampered_state": _asking("confirm"),
        "test_input_required_result_multi_round": _asking("step1", "step2"),
    }
    schema_tool = ToolDescription("json_schema_2020_12_tool", "", "Odd schema.", SCHEMA_2020_12)
    return MemoryToolbox(
        {
            "test_simple_text": (describe("test_simple_text"), _text),
            "test_error_handling": (describe("test_error_handling"), _error),
            "test_logging_tool": (describe("test_logging_tool"), _text),
            "json_schema_2020_12_tool": (schema_tool, _text),
        },
        asking=asking,
    )
