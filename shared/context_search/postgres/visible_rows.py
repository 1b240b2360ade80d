"""SQL conditions that several features share: which projects, tables and tools are there, which
chunks turbopuffer has, and which messages are due.

What our API deleted has ``context_search_remove_at``, until ``cleanup`` deletes the row. What the
owner of the database put into his trash has ``deleted_at``: we never write it and never delete
such a row, and when he takes it back, the row is there again.
"""

from __future__ import annotations

TABLE_IS_THERE = (
    "context_table.deleted_at IS NULL AND context_table.context_search_remove_at IS NULL"
)
ITS_TABLE_IS_THERE = f"""
    EXISTS (SELECT FROM context_table WHERE context_table.id = node.table_id AND {TABLE_IS_THERE})
"""
"""The table of a node is there. Not joined: its owner's columns may be named like ours."""
TOOL_IS_THERE = "tool.deleted_at IS NULL AND tool.context_search_remove_at IS NULL"
LIVE = f"tool.type = 'search' AND {TOOL_IS_THERE}"
"""It is a Search Tool, too."""
TOOL_MAY_RETURN = "tool.context_search_remove_at IS NULL"
"""It is there, or in its owner's trash."""


def of_caller(project_id: str) -> str:
    """Returns the condition that a column's project is the one that the transaction works for.

    What row-level security asks of the tables that are ours alone, here for those that may be an
    adopter's. It counts for the owner of the tables, too.
    """
    return (
        "(SELECT current_setting('context_search.project_id', true))"
        f" IN ('*', CAST({project_id} AS text))"
    )


TABLE_OF_CALLER = of_caller("context_table.project_id")
TOOL_OF_CALLER = of_caller("tool.project_id")


def project_is_there(project_id: str) -> str:
    """Returns the condition that our API has not deleted the project of a column."""
    return (
        f"NOT EXISTS (SELECT FROM project_removal WHERE project_removal.project_id = {project_id})"
    )


ACKNOWLEDGED = """
    chunks.present AND NOT EXISTS (
        SELECT FROM chunk_set AS unfinished WHERE unfinished.id = chunks.set_id
        AND unfinished.state = 'partial' AND chunks.chunk_index >= unfinished.present_count)
"""
"""turbopuffer has the chunk. The rows of a set are written once; their set counts how many of them
were acknowledged (decision 0053).
"""
IS_DUE = "(due_at IS NULL OR due_at <= statement_timestamp())"
"""It is time to send the message of the outbox."""
