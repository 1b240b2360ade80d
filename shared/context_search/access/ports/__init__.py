"""Keys, MCP instances, and requests that come again, as rows."""
