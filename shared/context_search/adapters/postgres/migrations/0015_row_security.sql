-- A second net between projects, for a role that does not own these tables.
-- docs/decisions/0017-row-level-security.md
--
-- Each transaction says in context_search.project_id whose rows it may see: the id of a project, or
-- * for work on all of them. Without that it sees nothing. An adopter's own tables stay as they are.

ALTER TABLE search_index ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON search_index USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

ALTER TABLE api_key ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON api_key USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

ALTER TABLE mcp ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON mcp USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

ALTER TABLE retrieval_settings ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON retrieval_settings USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

ALTER TABLE ranking ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON ranking USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

ALTER TABLE mcp_binding ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON mcp_binding USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM mcp WHERE mcp.id = mcp_id));

ALTER TABLE index_generation ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON index_generation USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM search_index WHERE search_index.id = index_id));

ALTER TABLE coverage ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON coverage USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM search_index WHERE search_index.id = index_id));

-- These have many rows: one look at the table's project is enough.
ALTER TABLE comparison ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON comparison USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM context_table WHERE context_table.id = table_id AND
        CAST(project_id AS text) = current_setting('context_search.project_id', true)));

ALTER TABLE node ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON node USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM context_table WHERE context_table.id = table_id AND
        CAST(project_id AS text) = current_setting('context_search.project_id', true)));

ALTER TABLE chunks ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON chunks USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM context_table WHERE context_table.id = table_id AND
        CAST(project_id AS text) = current_setting('context_search.project_id', true)));

ALTER TABLE chunk_set ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON chunk_set USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM node WHERE node.id = node_id));

-- Views look with the eyes of whoever asks, not of their owner.
ALTER VIEW generation_usage SET (security_invoker = true);
ALTER VIEW index_table SET (security_invoker = true);

-- Triggers work for whoever changes a row, with or without that setting: as the owner.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['bury_chunks', 'tally_chunks', 'data_changed'] LOOP
        EXECUTE format(
            'ALTER FUNCTION context_search_%s() SECURITY DEFINER SET search_path = %I, pg_temp',
            name, current_schema());
    END LOOP;
END $$;
