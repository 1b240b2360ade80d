"""MCP instances and bindings in memory."""

from __future__ import annotations

from dataclasses import asdict

from context_search.agents.sql.mcp_instances import McpInstances
from context_search.core.callers import (
    Binding,
    Confirmation,
    McpChanges,
    McpInstance,
    Replacing,
)
from context_search.core.model import SearchTool
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.tools import MemoryTools


class MemoryMcpInstances(Model, McpInstances):
    """``McpInstances`` over rows in memory."""

    def add(
        self,
        project_id: int,
        name: str,
        *,
        replacing: Replacing = "off",
        confirmation: Confirmation = "client",
        redacts: bool = False,
    ) -> McpInstance:
        made = (self.rows.new_id(), project_id, name, True, self.clock.now())
        mcp = McpInstance(*made, replacing, confirmation, redacts)
        self.rows.mcps[mcp.id] = mcp
        return mcp

    def find(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        mcp = self.rows.mcps.get(mcp_id)
        return mcp if mcp and mcp.project_id == project_id else None

    def lock(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        return self.find(mcp_id, project_id=project_id)

    def page(self, project_id: int, *, after: int, limit: int) -> list[McpInstance]:
        rows = [mcp for _, mcp in sorted(self.rows.mcps.items()) if mcp.project_id == project_id]
        return [mcp for mcp in rows if mcp.id > after][:limit]

    def replacing_in(self, tool_id: int, *, limit: int) -> list[McpInstance]:
        seeing = {
            row.mcp_id
            for row in self.rows.bindings.values()
            if row.tool_id == tool_id and row.status
        }
        rows = [mcp for _, mcp in sorted(self.rows.mcps.items()) if mcp.id in seeing and mcp.status]
        return [mcp for mcp in rows if mcp.replacing != "off"][:limit]

    def change(self, mcp_id: int, changes: McpChanges) -> McpInstance:
        changed = {name: value for name, value in asdict(changes).items() if value is not None}
        self.rows.change(self.rows.mcps, mcp_id, **changed)
        return self.rows.mcps[mcp_id]

    def remove(self, mcp_id: int) -> None:
        del self.rows.mcps[mcp_id]
        for key in [key for key in self.rows.bindings if key[0] == mcp_id]:
            del self.rows.bindings[key]
        for key_id, row in list(self.rows.keys.items()):
            if row.owner.mcp_id == mcp_id:
                del self.rows.keys[key_id]

    def bind(self, mcp_id: int, tool_id: int, *, status: bool) -> Binding | None:
        if (mcp_id, tool_id) in self.rows.bindings:
            return None
        binding = Binding(self.rows.new_id(), mcp_id, tool_id, status)
        self.rows.bindings[mcp_id, tool_id] = binding
        return binding

    def set_status(self, mcp_id: int, tool_id: int, *, status: bool) -> Binding | None:
        self.rows.change(self.rows.bindings, (mcp_id, tool_id), status=status)
        return self.rows.bindings.get((mcp_id, tool_id))

    def unbind(self, mcp_id: int, tool_id: int) -> bool:
        if (mcp_id, tool_id) not in self.rows.bindings:
            return False
        del self.rows.bindings[mcp_id, tool_id]
        return True

    def bindings(self, mcp_id: int, *, after: int, limit: int) -> list[tuple[Binding, SearchTool]]:
        tools = MemoryTools(self.rows, self.clock)
        bound = sorted(binding for binding in self.rows.bindings if binding[0] == mcp_id)
        found = [(self.rows.bindings[key], tools.find(key[1], project_id=None)) for key in bound]
        return [(row, tool) for row, tool in found if tool and tool.id > after][:limit]
