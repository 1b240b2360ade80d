-- Projects that an operator deleted, until the last of their rows is gone. A table of ours, not a
-- column: project may be another program's.
CREATE TABLE IF NOT EXISTS project_removal (
    project_id bigint PRIMARY KEY REFERENCES public.project (id) ON DELETE CASCADE,
    remove_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE project_removal IS
    'A project that our API deleted. Its keys are refused from then on; cleanup removes its tables, and then the project.';
COMMENT ON COLUMN project_removal.remove_at IS
    'When cleanup tries next to remove it; put off while something refers to it.';
ALTER TABLE project_removal ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON project_removal USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));
