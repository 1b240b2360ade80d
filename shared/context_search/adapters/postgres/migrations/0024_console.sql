-- Keys that the console makes for itself: short-lived, listed apart, forgotten afterwards. And the
-- judged sets of a project.

ALTER TABLE api_key ADD COLUMN kind text NOT NULL DEFAULT 'standard';
COMMENT ON COLUMN api_key.kind IS 'standard, or console: of a session in a browser.';

CREATE TABLE judged_set (
    project_id bigint NOT NULL REFERENCES public.project (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    questions int NOT NULL,
    bytes int NOT NULL,
    lines text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, name)
);
COMMENT ON TABLE judged_set IS 'Questions with the passages that answer them, as its owner judged.';
COMMENT ON COLUMN judged_set.version IS
    'Microseconds since 1970 at the last change: one that was deleted never comes back.';
COMMENT ON COLUMN judged_set.questions IS 'How many lines.';
COMMENT ON COLUMN judged_set.lines IS 'JSON Lines, as they were sent: docs/quality.md.';
ALTER TABLE judged_set ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON judged_set USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));
