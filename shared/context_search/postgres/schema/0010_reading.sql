-- What agents are offered to read with, and where people open what was cited.

ALTER TABLE mcp
    ADD COLUMN tools text NOT NULL DEFAULT 'named'
        CHECK (tools IN ('named', 'single', 'connector')),
    ADD COLUMN reading boolean NOT NULL DEFAULT false,
    ADD COLUMN texts text NOT NULL DEFAULT 'anyone' CHECK (texts IN ('ours', 'anyone'));
COMMENT ON COLUMN mcp.tools IS
    'named: each bound tool by its name; single: one search over all of them; connector: search and fetch alone.';
COMMENT ON COLUMN mcp.reading IS
    'Whether its agents may read on, find exact text and list what is there. An instance that is older than this column may not, until somebody says so.';
COMMENT ON COLUMN mcp.texts IS 'Who writes what its tools find: the instance''s owners alone, or anyone.';

-- The table may be another program's: what it has said about such a column stays.
ALTER TABLE public.context_table ADD COLUMN IF NOT EXISTS url_template text;
DO $$
BEGIN
    IF (SELECT col_description(attrelid, attnum) IS NULL FROM pg_attribute
        WHERE attrelid = CAST('public.context_table' AS regclass) AND attname = 'url_template') THEN
        COMMENT ON COLUMN public.context_table.url_template IS
            'The address of a place of the document in its owner''s application, with {table_id}, {pointer}, {start}, {end} or {cite}.';
    END IF;
END $$;
