"""MCP over Streamable HTTP, all revisions on one endpoint, without state, I/O or a framework.

Specification: modelcontextprotocol.io, revisions 2026-07-28 and 2024-11-05 to 2025-11-25.
Why this is written by hand: ``docs/decisions/0008-hand-written-mcp.md``.
"""
