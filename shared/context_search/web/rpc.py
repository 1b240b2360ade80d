"""What an MCP service that serves our tools itself is told about an instance.

Shape: the internal route ``mcp-v2`` of the service that came before.
"""

from __future__ import annotations

from collections.abc import Sequence

from context_search.domain.access import McpInstance
from context_search.domain.model import ToolRecord
from context_search.services.access.mcp_instances import BoundTool
from context_search.web.search_schema import described_tool


def mcp_rpc_answer(
    mcp: McpInstance, api_key: str, bound: Sequence[tuple[BoundTool, ToolRecord]]
) -> dict[str, object]:
    """Returns ``{mcp_v2, bound_tools: [{tool, binding}]}``; the owner is the project."""
    owner = str(mcp.project_id)
    return {
        "mcp_v2": {
            "id": mcp.id,
            "api_key": api_key,
            "user_id": owner,
            "project_id": mcp.project_id,
            "name": mcp.name,
            "status": mcp.status,
        },
        "bound_tools": [
            {
                "tool": {"user_id": owner, **_tool(tool, record)},
                "binding": {"id": tool.binding.id, "status": tool.binding.status},
            }
            for tool, record in bound
        ],
    }


def _tool(bound: BoundTool, record: ToolRecord) -> dict[str, object]:
    tool, shown = bound.tool, described_tool(bound.name, bound.tool)
    return {
        "id": tool.id,
        "project_id": tool.project_id,
        "name": shown.name,
        "title": shown.title,
        "alias": record.alias,
        "type": "search",
        "table_id": tool.scope.table_id,
        "json_path": tool.scope.json_pointer,
        "description": shown.description,
        "input_schema": shown.input_schema,
        "output_schema": shown.output_schema,
        "metadata": record.metadata,
        "created_at": tool.created_at.isoformat() if tool.created_at else None,
    }
