-- How projects retrieve; a project without a row, or with version 0, has the defaults.
CREATE TABLE retrieval_settings (
    project_id bigint PRIMARY KEY REFERENCES project (id) ON DELETE CASCADE,
    version bigint NOT NULL DEFAULT 0,     -- changes so far
    settings jsonb NOT NULL DEFAULT '{}',  -- what is missing keeps its default
    updated_at timestamptz NOT NULL DEFAULT now()
);
