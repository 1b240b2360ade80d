"""Which revision of the protocol a request belongs to, modern or legacy, and how each answers.

*Modern* revisions (2026-07-28) carry version and capabilities in every request and mirror its
envelope into headers; *legacy* ones (2024-11-05 to 2025-11-25) begin with an ``initialize``
handshake, which leaves nothing behind here. Specification 2026-07-28, "Versioning and
Compatibility". Why there are no batches: ``docs/decisions/0031-no-batches.md``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from context_search.mcp.contract import ClientInput, McpResponse, ServerIdentity
from context_search.mcp.elicitation import client_input
from context_search.mcp.jsonrpc import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    Call,
    RpcError,
    result_body,
)
from context_search.mcp.tools import CallContext, call_tool, list_tools
from context_search.mcp.transport import error_response, json_response

MODERN = ("2026-07-28",)
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
SUPPORTED = MODERN + LEGACY

VERSION_HEADER = "mcp-protocol-version"
VERSION_FIELD = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_FIELD = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_FIELD = "io.modelcontextprotocol/serverInfo"

DISCOVER_TTL_MS = 3_600_000
# Tools come and go without a notification, so a client should look again soon.
TOOLS_TTL_MS = 30_000

_NAME_SOURCE = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_STATUS = {METHOD_NOT_FOUND: 404, INTERNAL_ERROR: 200}
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
_FIELD_VALUE = re.compile(r"[\t\x20-\x7e]*")


def header(headers: Mapping[str, str], name: str) -> str | None:
    """A header's value without the optional white space around it (RFC 9110, 5.5)."""
    value = headers.get(name)
    return None if value is None else value.strip(" \t")


def declared_version(call: Call) -> object:
    """The version that the request's own ``_meta`` names, of any JSON type, or None."""
    return call.meta.get(VERSION_FIELD) if isinstance(call.meta, dict) else None


def is_modern(call: Call, headers: Mapping[str, str]) -> bool:
    """True as soon as header or ``_meta`` names a version that is not a legacy one.

    An unknown version is modern too, because only those have an answer for it (-32022).
    """
    named = (header(headers, VERSION_HEADER), declared_version(call))
    return any(version is not None and version not in LEGACY for version in named)


def unsupported(requested: str) -> RpcError:
    """The error for a version this server does not speak; it lists those that it does."""
    data = {"supported": list(SUPPORTED), "requested": requested}
    return RpcError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)


def check_version_header(headers: Mapping[str, str]) -> None:
    """Raise RpcError -32022 for a version header that names no supported revision."""
    version = header(headers, VERSION_HEADER)
    if version is not None and version not in SUPPORTED:
        raise unsupported(version)


# ---- Legacy: errors of a request travel with HTTP status 200, as the clients of these revisions
# expect


def answer_legacy(call: Call, context: CallContext) -> McpResponse:
    """Answer one request of a revision before 2026-07-28."""
    try:
        return json_response(200, result_body(call.id, _legacy_result(call, context)))
    except RpcError as error:
        return error_response(200, call.id, error)


def _legacy_result(call: Call, context: CallContext) -> dict[str, object]:
    match call.method:
        case "initialize":
            return _initialize(call, context)
        case "ping":
            return {}
        case "tools/list":
            return list_tools(context, call.params)
        case "tools/call":
            return call_tool(context, call.params, ClientInput())
        case _:
            raise RpcError(METHOD_NOT_FOUND, "Method not found")


def _initialize(call: Call, context: CallContext) -> dict[str, object]:
    requested = call.params.get("protocolVersion")
    if not isinstance(requested, str):
        raise RpcError(INVALID_PARAMS, '"protocolVersion" must be a string')
    return {
        "protocolVersion": requested if requested in LEGACY else LEGACY[0],
        "capabilities": {"tools": {}},
        "serverInfo": server_info(context.server),
        "instructions": context.server.instructions,
    }


# ---- Modern: every request stands alone


def answer_modern(call: Call, headers: Mapping[str, str], context: CallContext) -> McpResponse:
    """Answer one request: 200, 400 for a malformed one, 404 for an unknown method."""
    try:
        check_envelope(call, headers)
        result = _modern_result(call, context)
    except RpcError as error:
        return error_response(_STATUS.get(error.code, 400), call.id, error)
    stamp = {"_meta": {SERVER_INFO_FIELD: server_info(context.server)}}
    return json_response(200, result_body(call.id, {"resultType": "complete"} | result | stamp))


def server_info(server: ServerIdentity) -> dict[str, object]:
    """The ``Implementation`` object of the specification."""
    return {"name": server.name, "title": server.title, "version": server.version}


def _modern_result(call: Call, context: CallContext) -> dict[str, object]:
    match call.method:
        case "server/discover":
            return {
                "supportedVersions": list(SUPPORTED),
                "capabilities": {"tools": {}},
                "instructions": context.server.instructions,
                "ttlMs": DISCOVER_TTL_MS,
                "cacheScope": "public",
            }
        case "tools/list":
            caching = {"ttlMs": TOOLS_TTL_MS, "cacheScope": "private"}
            return list_tools(context, call.params) | caching
        case "tools/call":
            client = client_input(call.params, _capabilities(call))
            return call_tool(context, call.params, client)
        case _:
            raise RpcError(METHOD_NOT_FOUND, "Method not found")


def check_envelope(call: Call, headers: Mapping[str, str]) -> None:
    """Check the required ``_meta`` fields and the headers that repeat parts of the body.

    Raises RpcError -32020 (header and body differ), -32022 (version) or -32602 (field missing).
    """
    meta = call.meta if isinstance(call.meta, dict) else {}
    sent, declared = header(headers, VERSION_HEADER), meta.get(VERSION_FIELD)
    if VERSION_FIELD in meta and not isinstance(declared, str):
        raise RpcError(INVALID_PARAMS, f"_meta {VERSION_FIELD} must be a string")
    if declared is not None and sent != declared:
        raise _mismatch("MCP-Protocol-Version")
    # Without a declared version there is a sent one: else the request would not be modern.
    if sent is not None and sent not in MODERN:
        raise unsupported(sent)
    if declared is None:
        raise RpcError(INVALID_PARAMS, f"_meta lacks {VERSION_FIELD}")
    if not isinstance(meta.get(CAPABILITIES_FIELD), dict):
        raise RpcError(INVALID_PARAMS, f"_meta lacks the object {CAPABILITIES_FIELD}")
    _check_routing(call, headers)


def _capabilities(call: Call) -> Mapping[str, object]:
    """What the client says it can do, in an envelope that was checked."""
    meta = call.meta if isinstance(call.meta, dict) else {}
    declared = meta.get(CAPABILITIES_FIELD)
    return declared if isinstance(declared, dict) else {}


def _check_routing(call: Call, headers: Mapping[str, str]) -> None:
    if header(headers, "mcp-method") != call.method:
        raise _mismatch("Mcp-Method")
    source = _NAME_SOURCE.get(call.method)
    name = call.params.get(source) if source else None
    if name is not None and decode_field(header(headers, "mcp-name")) != name:
        raise _mismatch("Mcp-Name")


def _mismatch(name: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, f"Header mismatch: {name} is missing or differs from the body")


def decode_field(value: str | None) -> str | None:
    """Undo ``=?base64?…?=`` (specification, Value Encoding); None if malformed or absent."""
    if value is None or not _FIELD_VALUE.fullmatch(value):
        return None
    encoded = _ENCODED.fullmatch(value)
    if encoded is None:
        return value
    try:
        raw = base64.b64decode(encoded[1])
        # Python skips foreign characters and stray bits; only the one canonical form may match.
        canonical = base64.b64encode(raw).decode("ascii") == encoded[1]
        return raw.decode("utf-8") if canonical else None
    except (binascii.Error, UnicodeDecodeError):
        return None
