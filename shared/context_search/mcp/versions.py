"""Protocol revisions and which era a request belongs to.

*Modern* revisions carry version and capabilities in every request; *legacy* ones begin with an
``initialize`` handshake. Specification 2026-07-28, "Versioning and Compatibility".
"""

from __future__ import annotations

from collections.abc import Mapping

from context_search.mcp.jsonrpc import UNSUPPORTED_PROTOCOL_VERSION, Call, RpcError

MODERN = ("2026-07-28",)
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
SUPPORTED = MODERN + LEGACY

# The only revision with JSON-RPC batches, and what a missing version header stands for.
BATCHING = "2025-03-26"

VERSION_HEADER = "mcp-protocol-version"
VERSION_FIELD = "io.modelcontextprotocol/protocolVersion"


def header(headers: Mapping[str, str], name: str) -> str | None:
    """A header's value without the optional white space around it (RFC 9110, 5.5)."""
    value = headers.get(name)
    return None if value is None else value.strip(" \t")


def declared_version(call: Call) -> object:
    """The version that the request's own ``_meta`` names, of any JSON type, or None."""
    return call.meta.get(VERSION_FIELD) if isinstance(call.meta, dict) else None


def is_modern(call: Call, headers: Mapping[str, str]) -> bool:
    """True as soon as header or ``_meta`` names a version that is not a legacy one.

    An unknown version is modern too, because only that era has an answer for it (-32022).
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
