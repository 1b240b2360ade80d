"""Whatever arrives: never an exception, always an HTTP status, and JSON where there is a body."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from context_search.mcp.contract import McpRequest
from context_search.mcp.revisions import SUPPORTED, decode_field
from tests.mcp.memory import MODERN, ask, echo, raising, toolbox
from tests.profile import examples

TEXT = st.text(max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
VERSIONS = st.sampled_from(SUPPORTED) | TEXT
METHODS = st.sampled_from(
    ["initialize", "ping", "server/discover", "tools/list", "tools/call", "notifications/x"]
)
META = st.fixed_dictionaries(
    {},
    optional={
        "io.modelcontextprotocol/protocolVersion": st.just(MODERN) | VERSIONS | JSON,
        "io.modelcontextprotocol/clientCapabilities": st.just({}) | JSON,
    },
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "_meta": META | JSON,
        "name": st.sampled_from(["echo", "crash"]) | JSON,
        "arguments": JSON,
        "cursor": JSON,
        "protocolVersion": VERSIONS | JSON,
    },
)
MESSAGE = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | JSON},
    optional={
        "id": st.integers() | TEXT | JSON,
        "method": METHODS | JSON,
        "params": PARAMS | JSON,
        "result": JSON,
        "error": JSON,
    },
)
# Python writes NaN and Infinity, which is one more kind of input that is not JSON.
BODY = st.binary(max_size=40) | (JSON | MESSAGE | st.lists(MESSAGE, max_size=3)).map(
    lambda value: json.dumps(value).encode()
)
HEADER_VALUE = TEXT | st.sampled_from(["application/json", "*/*", "tools/call", "echo", MODERN])
HEADERS = st.fixed_dictionaries(
    {"content-type": st.just("application/json") | HEADER_VALUE},
    optional={
        "accept": st.just("application/json") | HEADER_VALUE,
        "origin": st.just("http://localhost:1") | HEADER_VALUE,
        "mcp-protocol-version": VERSIONS,
        "mcp-method": METHODS | HEADER_VALUE,
        "mcp-name": HEADER_VALUE,
    },
)
STATUSES = {200, 202, 400, 403, 404, 405, 406, 415}


def check(sent: McpRequest) -> Any:
    tools = toolbox(echo=echo, crash=raising(RuntimeError("secret")))
    answered = ask(sent, tools, allowed_origins=("http://localhost:*",))
    assert answered.status in STATUSES
    if answered.response.body is None:
        assert answered.status in {202, 405}
        return None
    assert b"secret" not in answered.response.body
    return answered.json


@settings(max_examples=examples(200))
@given(st.sampled_from(["POST", "POST", "POST", "GET"]), HEADERS, BODY)
def test_any_request_gets_a_proper_answer(
    method: str, headers: dict[str, str], body: bytes
) -> None:
    check(McpRequest(method, headers, body))


@settings(max_examples=examples(150))
@given(MESSAGE, VERSIONS, METHODS)
def test_any_answer_to_one_message_is_one_envelope(
    message: dict[str, Any], version: str, method: str
) -> None:
    headers = {
        "content-type": "application/json",
        "mcp-protocol-version": version,
        "mcp-method": method,
    }
    answer = check(McpRequest("POST", headers, json.dumps(message).encode()))
    if answer is not None:
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] is None or answer["id"] == message["id"]
        assert ("result" in answer) != ("error" in answer)


@settings(max_examples=examples(50))
@given(st.text())
def test_a_header_value_is_decoded_or_refused(value: str) -> None:
    decoded = decode_field(value)
    assert decoded is None or isinstance(decoded, str)
