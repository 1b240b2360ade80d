"""Calls in several rounds: what a tool asks, what a client answers, in both eras."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from mcp_types._v2026_07_28 import InputRequiredResult

from context_search.mcp.contract import (
    ClientInput,
    Form,
    FormAnswer,
    InputRequired,
    McpRequest,
    RequestStateError,
    ToolResult,
)
from tests.mcp.memory import Answered, MemoryToolbox, ask, call, modern, request

FORMS: dict[str, object] = {"elicitation": {"form": {}}}
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
QUESTION = InputRequired({"confirm": Form("Replace 7 matches?", SCHEMA)}, "state-1")
SEEN: list[ClientInput] = []


def asks(client: ClientInput) -> ToolResult | InputRequired:
    """A tool that goes on asking until somebody accepts, and takes one state."""
    SEEN.append(client)
    if client.state not in (None, "state-1"):
        raise RequestStateError
    answer = client.answers.get("confirm")
    return ToolResult({"action": answer.action}) if answer else QUESTION


def send(message: McpRequest) -> Answered:
    SEEN.clear()
    return ask(message, MemoryToolbox({}, asking={"asks": asks}))


def called(capabilities: Any = None, **params: Any) -> Answered:
    capabilities = FORMS if capabilities is None else capabilities
    return send(modern("tools/call", {"name": "asks", **params}, capabilities))


def test_a_question_is_a_result_of_its_own_kind() -> None:
    result = called().result
    assert result.pop("_meta")
    assert result == {
        "resultType": "input_required",
        "inputRequests": {
            "confirm": {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "message": "Replace 7 matches?",
                    "requestedSchema": SCHEMA,
                },
            }
        },
        "requestState": "state-1",
    }
    InputRequiredResult.model_validate(result)


def test_answers_and_state_reach_the_tool_and_its_result_is_complete() -> None:
    answers = {"confirm": {"action": "accept", "content": {"ok": True}}, "more": {"roots": []}}
    params = {"name": "asks", "inputResponses": answers, "requestState": "state-1"}
    message = modern("tools/call", params, FORMS)
    result = send(message).result
    assert (result["resultType"], result["structuredContent"]) == ("complete", {"action": "accept"})
    [seen] = SEEN
    assert seen == ClientInput(True, {"confirm": FormAnswer("accept", {"ok": True})}, "state-1")


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_user_may_say_no_or_go_away(action: Literal["decline", "cancel"]) -> None:
    result = called(inputResponses={"confirm": {"action": action}}).result
    assert result["structuredContent"] == {"action": action}
    [seen] = SEEN
    assert seen.answers == {"confirm": FormAnswer(action)}


@pytest.mark.parametrize(
    "responses",
    [None, {}, {"other": {"action": "accept"}}, {"confirm": {}}, {"confirm": {"action": "yes"}}],
)
def test_what_is_missing_is_asked_for_again(responses: Any) -> None:
    assert called(inputResponses=responses).result["resultType"] == "input_required"


@pytest.mark.parametrize(
    "params",
    [
        {"inputResponses": []},
        {"inputResponses": "confirm"},
        {"inputResponses": {"confirm": 12345}},
        {"inputResponses": {"confirm": None}},
        {"requestState": 7},
        {"requestState": {}},
        {"requestState": "another", "inputResponses": {"confirm": {"action": "accept"}}},
    ],
)
def test_what_cannot_be_an_answer_is_invalid_params(params: dict[str, Any]) -> None:
    answered = called(**params)
    assert (answered.status, answered.error["code"]) == (400, -32602)
    assert answered.surprises == []


@pytest.mark.parametrize(
    ("capabilities", "takes_forms"),
    [
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"form": {}, "url": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"elicitation": {"form": None}}, False),
        ({"elicitation": True}, False),
        ({"sampling": {}}, False),
        ({}, False),
    ],
)
def test_only_a_client_that_says_so_is_given_forms(
    *, capabilities: dict[str, Any], takes_forms: bool
) -> None:
    called(capabilities)
    assert [client.takes_forms for client in SEEN] == [takes_forms]


def test_a_question_to_a_client_that_takes_none_is_a_fault_of_ours() -> None:
    answered = called({"elicitation": {"url": {}}})
    assert answered.result["isError"] is True
    assert "Replace" not in answered.result["content"][0]["text"]
    assert len(answered.surprises) == 1


def test_the_era_before_knows_nothing_of_it() -> None:
    params = {
        "name": "asks",
        "inputResponses": {"confirm": {"action": "accept"}},
        "requestState": "forged",
        "_meta": {"io.modelcontextprotocol/clientCapabilities": FORMS},
    }
    message = request(call("tools/call", params), mcp_protocol_version="2025-11-25")
    answered = send(message)
    [seen] = SEEN
    assert seen == ClientInput()
    assert answered.result["isError"] is True
    assert "resultType" not in answered.result
