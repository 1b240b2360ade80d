-- Whose doing it is that a row is not there. docs/adopt.md
--
-- deleted_at belongs to whoever owns the database: a row that has it is not there for us, and is
-- never removed. What our API deletes is marked in a column of our own, and only rows with that
-- mark are removed by cleanup: from then on. Later than now: something refers to the row, and the
-- next attempt waits.
ALTER TABLE context_table ADD COLUMN context_search_remove_at timestamptz;
ALTER TABLE tool ADD COLUMN context_search_remove_at timestamptz;
CREATE INDEX context_search_table_removal ON context_table (context_search_remove_at)
    WHERE context_search_remove_at IS NOT NULL;
CREATE INDEX context_search_tool_removal ON tool (context_search_remove_at)
    WHERE context_search_remove_at IS NOT NULL;

-- What we write, and an owner's table may lack.
ALTER TABLE project ADD COLUMN IF NOT EXISTS name text;
ALTER TABLE context_table
    ADD COLUMN IF NOT EXISTS name text,
    ADD COLUMN IF NOT EXISTS description text;
ALTER TABLE tool
    ADD COLUMN IF NOT EXISTS json_path text,
    ADD COLUMN IF NOT EXISTS name text,
    ADD COLUMN IF NOT EXISTS description text,
    ADD COLUMN IF NOT EXISTS metadata jsonb,
    ADD COLUMN IF NOT EXISTS created_at timestamptz;

-- Until now our API wrote deleted_at. What it deleted a moment ago still has to go, where that can
-- be told from an owner's trash: the column came with 0001 (which added these three one after the
-- other), the row was deleted after that, and one of our indexes knows it.
UPDATE context_table SET context_search_remove_at = deleted_at
WHERE deleted_at >= (
        SELECT applied_at FROM context_search_migration WHERE name = '0001_catalog.sql')
  AND EXISTS (SELECT FROM comparison WHERE comparison.table_id = context_table.id)
  AND EXISTS (
        SELECT FROM pg_attribute AS revision
        JOIN pg_attribute AS updated USING (attrelid)
        JOIN pg_attribute AS deleted USING (attrelid)
        WHERE attrelid = CAST('context_table' AS regclass)
          AND revision.attname = 'revision' AND updated.attname = 'updated_at'
          AND deleted.attname = 'deleted_at'
          AND updated.attnum = revision.attnum + 1 AND deleted.attnum = updated.attnum + 1);

CREATE OR REPLACE VIEW index_table WITH (security_invoker = true) AS
SELECT search_index.id AS index_id, context_table.id AS table_id, revision, updated_at
FROM search_index JOIN context_table ON context_table.id = search_index.table_id
WHERE deleted_at IS NULL AND context_search_remove_at IS NULL
UNION ALL
SELECT search_index.id, context_table.id, revision, updated_at
FROM search_index JOIN context_table ON context_table.project_id = search_index.project_id
WHERE search_index.table_id IS NULL
  AND deleted_at IS NULL AND context_search_remove_at IS NULL;

CREATE OR REPLACE VIEW needed_scope WITH (security_invoker = true) AS
SELECT DISTINCT index_id, scope FROM coverage JOIN tool ON tool.id = tool_id
WHERE tool.deleted_at IS NULL AND tool.context_search_remove_at IS NULL
UNION ALL
SELECT id, '' FROM search_index WHERE table_id IS NULL;
