"""Revision 2026-07-28, rule by rule."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.mcp.memory import MODERN, SERVER, ask, call, echo, modern, request, toolbox

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SUPPORTED = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]


def enveloped(meta: object, version: str | None = MODERN) -> Any:
    body = call("tools/list", {"_meta": meta})
    return request(body, mcp_protocol_version=version, mcp_method="tools/list")


def test_discover_names_versions_capabilities_and_caching() -> None:
    result = ask(modern("server/discover")).result
    assert result["supportedVersions"] == SUPPORTED
    assert result["capabilities"] == {"tools": {}}
    assert result["instructions"] == SERVER.instructions
    assert result["ttlMs"] > 0
    assert result["cacheScope"] == "public"


@pytest.mark.parametrize(
    ("method", "params"),
    [("server/discover", {}), ("tools/list", {}), ("tools/call", {"name": "echo"})],
)
def test_every_result_is_complete_and_signed(method: str, params: dict[str, object]) -> None:
    result = ask(modern(method, params)).result
    assert result["resultType"] == "complete"
    info = result["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert info == {"name": "context-search", "title": "Context search", "version": "1.2.3"}


def test_the_tool_list_may_be_cached_by_this_caller_only() -> None:
    result = ask(modern("tools/list")).result
    assert result["cacheScope"] == "private"
    assert 0 < result["ttlMs"] <= 60_000


@pytest.mark.parametrize(
    "meta",
    [
        None,
        "text",
        {},
        {CAPABILITIES: {}},
        {VERSION: MODERN},
        {VERSION: MODERN, CAPABILITIES: None},
        {VERSION: MODERN, CAPABILITIES: []},
        {VERSION: 20260728, CAPABILITIES: {}},
        {VERSION: None, CAPABILITIES: {}},
    ],
)
def test_a_missing_envelope_field_is_invalid_params(meta: object) -> None:
    answered = ask(enveloped(meta))
    assert (answered.status, answered.error["code"], answered.json["id"]) == (400, -32602, 1)


def test_the_client_need_not_name_itself() -> None:
    assert ask(enveloped({VERSION: MODERN, CAPABILITIES: {}})).status == 200


@pytest.mark.parametrize("version", [None, "2025-11-25", "v999.0.0", ""])
def test_the_version_header_must_equal_the_envelope(version: str | None) -> None:
    answered = ask(enveloped({VERSION: MODERN, CAPABILITIES: {}}, version))
    assert (answered.status, answered.error["code"]) == (400, -32020)


@pytest.mark.parametrize("meta", [{VERSION: "v999.0.0", CAPABILITIES: {}}, {}, None])
def test_an_unknown_version_is_told_which_ones_are_known(meta: object) -> None:
    answered = ask(enveloped(meta, "v999.0.0"))
    assert (answered.status, answered.error["code"], answered.json["id"]) == (400, -32022, 1)
    assert answered.error["data"] == {"supported": SUPPORTED, "requested": "v999.0.0"}


@pytest.mark.parametrize("sent", [None, "tools/call", "TOOLS/LIST", ""])
def test_the_method_header_must_equal_the_method(sent: str | None) -> None:
    answered = ask(modern("tools/list", mcp_method=sent))
    assert (answered.status, answered.error["code"]) == (400, -32020)


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.parametrize(
    ("name", "sent", "status"),
    [
        ("echo", "echo", 200),
        ("echo", "  echo\t", 200),
        ("echo", encoded("echo"), 200),
        ("查找", encoded("查找"), 200),
        ("=?base64?x?=", encoded("=?base64?x?="), 200),
        ("=?base64?eA==", "=?base64?eA==", 200),
        ("echo", None, 400),
        ("echo", "Echo", 400),
        ("echo", "=?BASE64?ZWNobw==?=", 400),
        ("echo", "=?base64?ZWNobw?=", 400),
        ("echo", "=?base64?ZWN!!obw==?=", 400),
        ("echo", "=?base64?ZWNobx==?=", 400),
        ("echo", "=?base64?/w==?=", 400),
        ("查找", "查找", 400),
        ("=?base64?x?=", "=?base64?x?=", 400),
    ],
)
def test_the_name_header_must_decode_to_the_tool_name(
    name: str, sent: str | None, status: int
) -> None:
    tools = toolbox(**{name: echo})
    answered = ask(modern("tools/call", {"name": name}, mcp_name=sent), tools)
    assert answered.status == status
    if status == 400:
        assert answered.error["code"] == -32020
        assert tools.calls == []


def test_resources_are_named_by_their_uri() -> None:
    sent = modern("resources/read", {"uri": "file:///a"}, mcp_name="file:///b")
    assert ask(sent).error["code"] == -32020
    assert ask(modern("resources/read", {"uri": "a"}, mcp_name="a")).error["code"] == -32601


@pytest.mark.parametrize(
    "method",
    ["initialize", "ping", "logging/setLevel", "prompts/list", "subscriptions/listen", "no/such"],
)
def test_a_method_we_do_not_have_is_404(method: str) -> None:
    answered = ask(modern(method))
    assert (answered.status, answered.error["code"], answered.json["id"]) == (404, -32601, 1)


@pytest.mark.parametrize(
    ("version", "status"), [(MODERN, 202), (None, 202), ("2025-11-25", 202), ("v999", 400)]
)
def test_a_notification_is_accepted_in_any_version_we_speak(
    version: str | None, status: int
) -> None:
    body = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    answered = ask(request(body, mcp_protocol_version=version))
    assert answered.status == status
    if status == 202:
        assert answered.response.body is None
    else:
        assert (answered.error["code"], answered.json["id"]) == (-32022, None)


def test_client_responses_and_batches_are_gone() -> None:
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
    for body in (reply, [call("tools/list")]):
        answered = ask(request(body, mcp_protocol_version=MODERN))
        assert (answered.status, answered.error["code"]) == (400, -32600)


def test_ids_come_back_as_they_were_sent() -> None:
    for request_id in ("a", "1", 1, 0, -5, 2**70, "编号", "\ud800"):
        body = call("tools/list", {"_meta": {VERSION: MODERN, CAPABILITIES: {}}}, request_id)
        sent = request(body, mcp_protocol_version=MODERN, mcp_method="tools/list")
        assert ask(sent).json["id"] == request_id
