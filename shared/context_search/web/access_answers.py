"""The shapes of keys, MCP instances and bindings in answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import TypeVar

from context_search.domain.access import ApiKey, McpInstance, in_order
from context_search.services.access.keys import ShownKey
from context_search.services.access.mcp_instances import BoundTool
from context_search.services.pages import Page

T = TypeVar("T")


def page_answer(name: str, page: Page[T], shown: Callable[[T], object]) -> dict[str, object]:
    """Returns ``{name: […], cursor}``; the cursor is null on the last page."""
    cursor = None if page.next_after is None else str(page.next_after)
    return {name: [shown(row) for row in page.rows], "cursor": cursor}


def key_answer(key: ApiKey) -> dict[str, object]:
    """Returns a key without its text."""
    return {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "scopes": in_order(key.permissions),
        "created_at": key.created_at.isoformat(),
        "expires_at": _time(key.expires_at),
        "last_used_at": _time(key.last_used_at),
        "revoked_at": _time(key.revoked_at),
    }


def shown_key_answer(shown: ShownKey) -> dict[str, object]:
    """Returns a key with its text, this once."""
    return {**key_answer(shown.key), "api_key": shown.text}


def mcp_answer(mcp: McpInstance) -> dict[str, object]:
    """Returns an MCP instance."""
    return {**asdict(mcp), "created_at": mcp.created_at.isoformat()}


def binding_answer(bound: BoundTool) -> dict[str, object]:
    """Returns a binding with the name that agents call its tool by."""
    return {
        "id": bound.binding.id,
        "tool_id": bound.binding.tool_id,
        "status": bound.binding.status,
        "name": bound.name,
        "title": bound.tool.name,
        "table_id": bound.tool.scope.table_id,
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
