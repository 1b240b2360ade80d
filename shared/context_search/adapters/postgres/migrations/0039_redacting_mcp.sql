-- MCP instances that hide keys and personal data from their agents.

ALTER TABLE mcp ADD COLUMN redacts boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN mcp.redacts IS 'Whether texts that agents get are redacted.';
