"""tools/list and tools/call, which are the same in both eras but for the frame."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import pytest

from context_search.agents.tools.toolboxes import as_mcp_errors
from context_search.core.errors import (
    ContextSearchError,
    DatabaseUnavailableError,
    EmbeddingUnavailableError,
    InvalidInputError,
    NotFoundError,
)
from context_search.mcp.contract import McpRequest, ToolResult
from tests.mcp.memory import (
    MemoryToolbox,
    ask,
    call,
    describe,
    echo,
    modern,
    raising,
    request,
    toolbox,
)


def legacy(method: str, params: Mapping[str, object] | None = None) -> McpRequest:
    return request(call(method, params), mcp_protocol_version="2025-11-25")


Sender = Callable[..., McpRequest]
ERAS = pytest.mark.parametrize("send", [legacy, modern])


class FailingToolbox(MemoryToolbox):
    """A toolbox whose list is lost."""

    def __init__(self, error: Exception) -> None:
        super().__init__({})
        self.error = error

    @as_mcp_errors
    def list_tools(self, *, cursor: str | None) -> NoReturn:
        assert cursor is None
        raise self.error


@ERAS
def test_a_tool_is_listed_with_its_schemas_verbatim(send: Sender) -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}
    tool = describe("t", output_schema=schema, annotations={"readOnlyHint": True})
    listed = ask(send("tools/list"), MemoryToolbox({"t": (tool, echo)})).result["tools"]
    assert listed == [
        {
            "name": "t",
            "title": "T",
            "description": "The tool t.",
            "inputSchema": {"type": "object"},
            "outputSchema": schema,
            "annotations": {"readOnlyHint": True},
        }
    ]


@ERAS
def test_absent_parts_of_a_tool_are_left_out(send: Sender) -> None:
    (listed,) = ask(send("tools/list")).result["tools"]
    assert set(listed) == {"name", "title", "description", "inputSchema"}


@ERAS
def test_pages_follow_the_cursor_to_the_end(send: Sender) -> None:
    names = [f"tool{n}" for n in range(5)]
    tools = toolbox(2, **dict.fromkeys(names, echo))
    seen: list[str] = []
    params: dict[str, object] = {}
    while True:
        result = ask(send("tools/list", params), tools).result
        seen += [tool["name"] for tool in result["tools"]]
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    assert seen == names


@ERAS
@pytest.mark.parametrize("cursor", ["never handed out", 5, ["0"]])
def test_a_bad_cursor_is_invalid_params(send: Sender, cursor: object) -> None:
    assert ask(send("tools/list", {"cursor": cursor})).error["code"] == -32602


@ERAS
def test_a_lost_tool_list_is_an_error_and_not_an_empty_list(send: Sender) -> None:
    answered = ask(send("tools/list"), FailingToolbox(DatabaseUnavailableError("down")))
    assert (answered.status, answered.error["code"], answered.surprises) == (200, -32603, [])
    data = {"code": "DATABASE_UNAVAILABLE", "message": "down", "retryable": True}
    assert answered.error["data"] == data


@ERAS
def test_a_list_that_fails_is_reported_and_not_shown(send: Sender) -> None:
    crash = KeyError("secret")
    answered = ask(send("tools/list"), FailingToolbox(crash))
    assert answered.error["code"] == -32603
    assert b"secret" not in (answered.response.body or b"")
    assert answered.surprises == [crash]
    no_json = describe("t", annotations={"readOnlyHint": object()})
    answered = ask(send("tools/list"), MemoryToolbox({"t": (no_json, echo)}))
    assert (answered.status, answered.error["code"]) == (500, -32603)
    assert len(answered.surprises) == 1


@ERAS
def test_a_result_is_given_as_json_and_as_the_same_json_in_text(send: Sender) -> None:
    value = {"query": "西瓜", "results": [{"score": 0.5}]}
    result = ask(send("tools/call", {"name": "t"}), toolbox(t=lambda _: ToolResult(value))).result
    assert result["structuredContent"] == value
    text = '{"query":"西瓜","results":[{"score":0.5}]}'
    assert result["content"] == [{"type": "text", "text": text}]
    assert result["isError"] is False


@ERAS
@pytest.mark.parametrize("more", [{}, {"arguments": None}, {"arguments": {"query": "x"}}])
def test_arguments_reach_the_tool_untouched(send: Sender, more: dict[str, Any]) -> None:
    tools = toolbox(echo=echo)
    ask(send("tools/call", {"name": "echo", **more}), tools)
    assert tools.calls == [("echo", more.get("arguments") or {})]


@ERAS
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": None},
        {"name": "echo", "arguments": []},
        {"name": "echo", "arguments": "query"},
        {"name": "echo", "arguments": 0},
        {"name": "nope"},
    ],
)
def test_malformed_calls_are_invalid_params(send: Sender, params: dict[str, object]) -> None:
    tools = toolbox(echo=echo)
    assert ask(send("tools/call", params), tools).error["code"] == -32602
    assert tools.calls == []


def report(send: Sender, error: Exception) -> tuple[Any, list[Exception]]:
    answered = ask(send("tools/call", {"name": "t"}), toolbox(t=raising(error)))
    assert answered.status == 200
    assert answered.result["isError"] is True
    assert "structuredContent" not in answered.result
    return json.loads(answered.result["content"][0]["text"]), list(answered.surprises)


@ERAS
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidInputError("top_k is 21"), ("INVALID_INPUT", "top_k is 21", False, None)),
        (NotFoundError("gone"), ("NOT_FOUND", "gone", False, None)),
        (
            EmbeddingUnavailableError("busy", retry_after_s=0.2),
            ("EMBEDDING_UNAVAILABLE", "busy", True, 200),
        ),
    ],
)
def test_a_failure_the_agent_can_act_on_is_in_the_result(
    send: Sender, error: ContextSearchError, expected: tuple[object, ...]
) -> None:
    found, surprises = report(send, error)
    assert tuple(map(found.get, ("code", "message", "retryable", "retryAfterMs"))) == expected
    assert surprises == []


@ERAS
def test_a_crash_of_the_tool_is_reported_and_not_shown(send: Sender) -> None:
    crash = RuntimeError("/srv/secret.py line 7")
    found, surprises = report(send, crash)
    assert found == {"code": "INTERNAL", "message": "internal error", "retryable": False}
    assert surprises == [crash]


@ERAS
@pytest.mark.parametrize("value", [{"score": float("nan")}, {"x": object()}])
def test_a_result_that_is_not_json_is_an_internal_error(send: Sender, value: Any) -> None:
    answered = ask(send("tools/call", {"name": "t"}), toolbox(t=lambda _: ToolResult(value)))
    assert answered.result["isError"] is True
    assert len(answered.surprises) == 1


@ERAS
def test_a_tool_may_report_an_error_of_its_own(send: Sender) -> None:
    tools = toolbox(t=lambda _: ToolResult({"code": "X"}, is_error=True))
    result = ask(send("tools/call", {"name": "t"}), tools).result
    assert (result["isError"], result["content"][0]["text"]) == (True, '{"code":"X"}')
    assert "structuredContent" not in result
