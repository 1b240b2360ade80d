-- What live tools need is compared with what a generation was compared for, so that a tool which
-- somebody deletes by SQL, softly or not, is noticed like one that the API deletes.

-- The scopes that an index has to hold, each once; of a project's index the root.
CREATE VIEW needed_scope WITH (security_invoker = true) AS
SELECT DISTINCT index_id, scope FROM coverage JOIN tool ON tool.id = tool_id
WHERE tool.deleted_at IS NULL
UNION ALL
SELECT id, '' FROM search_index WHERE table_id IS NULL;

-- For which scopes a generation was compared with a table, in the order of the collation C.
ALTER TABLE comparison ADD COLUMN scopes text[];
UPDATE comparison SET scopes = ARRAY(
    SELECT DISTINCT scope COLLATE "C" FROM coverage
    WHERE coverage.index_id = generation.index_id ORDER BY 1)
FROM index_generation AS generation WHERE generation.id = generation_id;
