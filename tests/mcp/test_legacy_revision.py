"""Revisions 2024-11-05 to 2025-11-25, rule by rule."""

from __future__ import annotations

import pytest

from tests.mcp.memory import SERVER, ask, call, echo, request, toolbox

LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


def hello(version: object) -> dict[str, object]:
    client = {"name": "test", "version": "0"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return call("initialize", params)


@pytest.mark.parametrize(
    ("requested", "agreed"),
    [(version, version) for version in LEGACY]
    + [("2026-07-28", "2025-11-25"), ("2030-01-01", "2025-11-25"), ("1", "2025-11-25")],
)
def test_initialize_agrees_on_a_version_of_its_era(requested: str, agreed: str) -> None:
    answered = ask(request(hello(requested)))
    assert answered.status == 200
    assert answered.result == {
        "protocolVersion": agreed,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "context-search", "title": "Context search", "version": "1.2.3"},
        "instructions": SERVER.instructions,
    }
    assert "mcp-session-id" not in answered.response.headers


@pytest.mark.parametrize("version", [None, 1, [], {}])
def test_initialize_needs_a_version(version: object) -> None:
    answered = ask(request(hello(version)))
    assert (answered.status, answered.error["code"]) == (200, -32602)


@pytest.mark.parametrize("version", [None, *LEGACY])
def test_a_call_needs_no_session(version: str | None) -> None:
    sent = call("tools/call", {"name": "echo", "arguments": {"query": "x"}})
    answered = ask(request(sent, mcp_protocol_version=version, mcp_session_id="old"))
    assert answered.result["structuredContent"] == {"echo": {"query": "x"}}
    assert "resultType" not in answered.result
    assert "mcp-session-id" not in answered.response.headers


def test_ping_is_answered_with_nothing() -> None:
    assert ask(request(call("ping"), mcp_protocol_version="2025-06-18")).result == {}


@pytest.mark.parametrize("method", ["prompts/list", "server/discover", "logging/setLevel", ""])
def test_a_method_we_do_not_have_is_an_error_with_status_200(method: str) -> None:
    answered = ask(request(call(method, request_id="x")))
    assert (answered.status, answered.error["code"], answered.json["id"]) == (200, -32601, "x")


@pytest.mark.parametrize("body", [call("ping"), hello("2025-11-25")])
@pytest.mark.parametrize("version", ["1999-01-01", "latest", "", "2025-11-25, 2025-11-25"])
def test_an_unsupported_version_header_is_400(version: str, body: object) -> None:
    answered = ask(request(body, mcp_protocol_version=version))
    assert (answered.status, answered.error["code"]) == (400, -32022)


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}},
    ],
)
def test_what_is_owed_no_answer_is_accepted_without_a_body(body: object) -> None:
    answered = ask(request(body, mcp_protocol_version="2025-11-25"))
    assert (answered.status, answered.response.body) == (202, None)
    assert "content-type" not in answered.response.headers


@pytest.mark.parametrize("version", [None, *LEGACY])
@pytest.mark.parametrize("size", [0, 1, 20])
def test_a_request_is_one_message_and_a_batch_calls_nothing(version: str | None, size: int) -> None:
    tools = toolbox(echo=echo)
    batch = [call("tools/call", {"name": "echo"}, request_id=n) for n in range(size)]
    answered = ask(request(batch, mcp_protocol_version=version), tools)
    assert (answered.status, answered.error["code"], answered.json["id"]) == (400, -32600, None)
    assert tools.calls == []
