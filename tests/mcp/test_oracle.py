"""Results against the official wire models (``mcp-types``), for every revision we claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types
import pytest
from mcp_types import jsonrpc, methods
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from context_search.agents.tools.search_tools import search_tool
from context_search.core.errors import InvalidInputError
from context_search.mcp.contract import McpRequest, ToolResult
from context_search.mcp.revisions import SUPPORTED
from tests.mcp.memory import MODERN, MemoryToolbox, ask, call, modern, raising, request
from tests.mcp.test_search_schema import ANSWER

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"},
}
GOOD = [
    ("initialize", HELLO),
    ("ping", {}),
    ("server/discover", {}),
    ("tools/list", {}),
    ("tools/call", {"name": "search_kb", "arguments": {"query": "x"}}),
    ("tools/call", {"name": "refusing", "arguments": {}}),
]
BAD = [
    ("tools/call", {"name": "nope"}),
    ("tools/call", {"name": "search_kb", "arguments": []}),
    ("tools/list", {"cursor": "nope"}),
    ("prompts/list", {}),
]


def tools() -> MemoryToolbox:
    kb = search_tool(name="search_kb", title="KB", description="", table_name="Articles")
    refusing = raising(InvalidInputError("query is missing"))
    return MemoryToolbox(
        {"search_kb": (kb, lambda _: ToolResult(ANSWER)), "refusing": (kb, refusing)}
    )


def sent(method: str, version: str, params: Mapping[str, Any]) -> McpRequest:
    if version == MODERN:
        built: McpRequest = modern(method, params)
        return built
    return request(call(method, params), mcp_protocol_version=version)


def test_we_claim_exactly_the_released_revisions() -> None:
    assert set(SUPPORTED) == set(KNOWN_PROTOCOL_VERSIONS)


@pytest.mark.parametrize("version", SUPPORTED)
@pytest.mark.parametrize(("method", "params"), GOOD)
def test_results_have_the_shape_of_their_revision(
    version: str, method: str, params: dict[str, Any]
) -> None:
    body = ask(sent(method, version, params), tools()).json
    if (method, version) not in methods.CLIENT_REQUESTS:
        assert body["error"]["code"] == mcp_types.METHOD_NOT_FOUND
        return
    reply = jsonrpc.JSONRPCResponse.model_validate(body)
    kept = methods.serialize_server_result(method, version, reply.result)
    # The model drops what its revision does not know; nothing of ours may get lost.
    assert kept == reply.result


@pytest.mark.parametrize("version", SUPPORTED)
@pytest.mark.parametrize(("method", "params"), BAD)
def test_errors_have_the_shape_of_json_rpc(
    version: str, method: str, params: dict[str, Any]
) -> None:
    body = ask(sent(method, version, params), tools()).json
    assert jsonrpc.JSONRPCError.model_validate(body).id == 1


def test_an_unsupported_version_carries_the_official_data() -> None:
    error = ask(request(call("tools/list"), mcp_protocol_version="1900-01-01")).error
    assert error["code"] == mcp_types.UNSUPPORTED_PROTOCOL_VERSION
    data = mcp_types.UnsupportedProtocolVersionErrorData.model_validate(error["data"])
    assert data.requested == "1900-01-01"


def test_our_codes_are_the_official_ones() -> None:
    from context_search.mcp import jsonrpc as ours

    for name in ("PARSE_ERROR", "INVALID_REQUEST", "METHOD_NOT_FOUND", "INVALID_PARAMS"):
        assert getattr(ours, name) == getattr(jsonrpc, name)
    for name in ("INTERNAL_ERROR", "HEADER_MISMATCH", "UNSUPPORTED_PROTOCOL_VERSION"):
        assert getattr(ours, name) == getattr(jsonrpc, name)
