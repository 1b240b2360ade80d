-- Uploads belong to projects: docs/decisions/0017-row-level-security.md
ALTER TABLE upload ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON upload USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));
