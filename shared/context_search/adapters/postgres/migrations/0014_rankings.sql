-- Rankings of project searches with further pages, for as long as a cursor is good. Nothing is lost
-- with them, so they are not logged.
CREATE UNLOGGED TABLE ranking (
    name text PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    body jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ranking_project ON ranking (project_id, created_at);
CREATE INDEX ranking_age ON ranking (created_at);
