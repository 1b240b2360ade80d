"""Projects, tables, Search Tools and uploads, as rows."""
