"""MCP instances and bindings in Postgres."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from context_search.core.callers import NEW_MCP, Binding, McpChanges, McpInstance, McpSettings
from context_search.core.model import SearchTool
from context_search.postgres.locks import KEYS_TURN
from context_search.postgres.pool import Transaction
from context_search.postgres.tool_rows import TOOL_COLUMNS, TOOL_TABLES, tool_of
from context_search.postgres.visible_rows import LIVE

_MCP = """
    id, project_id, name, status, created_at, replacing, confirmation, redacts,
    tools, reading, texts
"""
_BINDING = "id, mcp_id, tool_id, status"


@dataclass(frozen=True, slots=True)
class McpInstances:
    """MCP instances and what is bound to them."""

    tx: Transaction

    def add(self, project_id: int, name: str, settings: McpSettings = NEW_MCP) -> McpInstance:
        """Creates an enabled instance without any tool."""
        [row] = self.tx.run(
            f"""
            INSERT INTO mcp (project_id, name, replacing, confirmation, redacts,
                             tools, reading, texts)
            VALUES (:project, :name, :replacing, :confirmation, :redacts, :offers, :reads, :texts)
            RETURNING {_MCP}
            """,
            project=project_id,
            name=name,
            **asdict(settings),
        )
        return McpInstance(*row)

    def find(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        """Returns an instance of that project."""
        rows = self.tx.run(
            f"SELECT {_MCP} FROM mcp WHERE id = :id AND project_id = :project",
            id=mcp_id,
            project=project_id,
        )
        return McpInstance(*rows[0]) if rows else None

    def lock(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        """Returns an instance and keeps others from changing it until the transaction ends."""
        rows = self.tx.run(
            f"SELECT {_MCP} FROM mcp WHERE id = :id AND project_id = :project FOR UPDATE",
            id=mcp_id,
            project=project_id,
        )
        return McpInstance(*rows[0]) if rows else None

    def page(self, project_id: int, *, after: int, limit: int) -> list[McpInstance]:
        """Returns instances with ids above ``after``, ascending."""
        rows = self.tx.run(
            f"""
            SELECT {_MCP} FROM mcp WHERE project_id = :project AND id > :after
            ORDER BY id LIMIT :limit
            """,
            project=project_id,
            after=after,
            limit=limit,
        )
        return [McpInstance(*row) for row in rows]

    def replacing_in(self, tool_id: int, *, limit: int) -> list[McpInstance]:
        """Returns enabled instances whose agents may replace and see that tool, by id."""
        rows = self.tx.run(
            f"""
            SELECT {_MCP} FROM mcp
            WHERE status AND replacing <> 'off' AND EXISTS (
                SELECT FROM mcp_binding
                WHERE mcp_binding.mcp_id = mcp.id AND tool_id = :tool AND mcp_binding.status
            )
            ORDER BY id LIMIT :limit
            """,
            tool=tool_id,
            limit=limit,
        )
        return [McpInstance(*row) for row in rows]

    def change(self, mcp_id: int, changes: McpChanges) -> McpInstance:
        """Changes an instance; what stays as it is stays so while others change it, too."""
        [row] = self.tx.run(
            f"""
            UPDATE mcp SET
                name = COALESCE(CAST(:name AS text), name),
                status = COALESCE(CAST(:status AS boolean), status),
                replacing = COALESCE(CAST(:replacing AS text), replacing),
                confirmation = COALESCE(CAST(:confirmation AS text), confirmation),
                redacts = COALESCE(CAST(:redacts AS boolean), redacts),
                tools = COALESCE(CAST(:offers AS text), tools),
                reading = COALESCE(CAST(:reads AS boolean), reading),
                texts = COALESCE(CAST(:texts AS text), texts)
            WHERE id = :id RETURNING {_MCP}
            """,
            id=mcp_id,
            **asdict(changes),
        )
        return McpInstance(*row)

    def remove(self, mcp_id: int) -> None:
        """Deletes an instance with its keys and bindings."""
        # Its keys go with it; who puts another in the place of one has the key, and asks for us.
        self.tx.run(f"SELECT {KEYS_TURN} FROM mcp WHERE id = :id", id=mcp_id)
        self.tx.run("DELETE FROM mcp WHERE id = :id", id=mcp_id)

    def bind(self, mcp_id: int, tool_id: int, *, status: bool) -> Binding | None:
        """Puts a tool into an instance; None when it is there already."""
        rows = self.tx.run(
            f"""
            INSERT INTO mcp_binding (mcp_id, tool_id, status) VALUES (:mcp, :tool, :status)
            ON CONFLICT DO NOTHING RETURNING {_BINDING}
            """,
            mcp=mcp_id,
            tool=tool_id,
            status=status,
        )
        return Binding(*rows[0]) if rows else None

    def set_status(self, mcp_id: int, tool_id: int, *, status: bool) -> Binding | None:
        """Enables or disables a binding; None when there is none."""
        rows = self.tx.run(
            f"""
            UPDATE mcp_binding SET status = :status WHERE mcp_id = :mcp AND tool_id = :tool
            RETURNING {_BINDING}
            """,
            mcp=mcp_id,
            tool=tool_id,
            status=status,
        )
        return Binding(*rows[0]) if rows else None

    def unbind(self, mcp_id: int, tool_id: int) -> bool:
        """Takes a tool out of an instance; returns whether it was there."""
        deleted = self.tx.execute(
            "DELETE FROM mcp_binding WHERE mcp_id = :mcp AND tool_id = :tool",
            mcp=mcp_id,
            tool=tool_id,
        )
        return deleted > 0

    def bindings(self, mcp_id: int, *, after: int, limit: int) -> list[tuple[Binding, SearchTool]]:
        """Returns bindings of live tools with tool ids above ``after``, ascending."""
        rows = self.tx.run(
            f"""
            SELECT mcp_binding.id, mcp_binding.mcp_id, mcp_binding.tool_id, mcp_binding.status,
                   {TOOL_COLUMNS}
            FROM {TOOL_TABLES} JOIN mcp_binding ON mcp_binding.tool_id = tool.id
            WHERE {LIVE} AND mcp_binding.mcp_id = :mcp AND tool.id > :after
            ORDER BY tool.id LIMIT :limit
            """,
            mcp=mcp_id,
            after=after,
            limit=limit,
        )
        return [(Binding(*row[:4]), tool_of(row[4:])) for row in rows]
