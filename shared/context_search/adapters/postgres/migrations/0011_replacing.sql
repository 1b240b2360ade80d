-- Search and replace: plans, with every string that they change, before and after.

CREATE TABLE replace_plan (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES public.project (id) ON DELETE CASCADE,
    mcp_id bigint,
    undoes bigint REFERENCES replace_plan (id) ON DELETE CASCADE,
    state text NOT NULL CHECK (state IN (
        'previewing', 'ready', 'executing', 'done', 'partial', 'failed', 'cancelled', 'expired')),
    request jsonb,
    scope jsonb NOT NULL,
    request_hmac bytea NOT NULL,
    engine text NOT NULL,
    after_table bigint NOT NULL DEFAULT 0,
    digest bytea,
    counts jsonb NOT NULL DEFAULT '{}',
    choice jsonb,
    previewed_by text,
    executed_by text,
    request_id text,
    runs int NOT NULL DEFAULT 0,
    last_error jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    executed_at timestamptz,
    undo_until timestamptz,
    saved_at timestamptz NOT NULL DEFAULT now(),
    texts_until timestamptz,
    kept_until timestamptz NOT NULL
);
CREATE INDEX replace_plan_project ON replace_plan (project_id, id);
CREATE UNIQUE INDEX replace_plan_executing ON replace_plan (project_id) WHERE state = 'executing';
CREATE UNIQUE INDEX replace_plan_undo ON replace_plan (undoes)
    WHERE state NOT IN ('failed', 'cancelled', 'expired');
CREATE INDEX replace_plan_undoes ON replace_plan (undoes);
CREATE INDEX replace_plan_open ON replace_plan (expires_at)
    WHERE state IN ('previewing', 'ready');
CREATE INDEX replace_plan_silent ON replace_plan (saved_at)
    WHERE state IN ('previewing', 'executing');
CREATE INDEX replace_plan_texts ON replace_plan (texts_until) WHERE texts_until IS NOT NULL;
CREATE INDEX replace_plan_kept ON replace_plan (kept_until);
COMMENT ON TABLE replace_plan IS
    'What a request to replace would change, and what became of it. docs/editing.md';
COMMENT ON COLUMN replace_plan.mcp_id IS 'The MCP instance whose agent asked.';
COMMENT ON COLUMN replace_plan.undoes IS 'The plan that this one takes back.';
COMMENT ON COLUMN replace_plan.request IS 'NULL: an undo, or its texts are forgotten.';
COMMENT ON COLUMN replace_plan.request_hmac IS 'Stands for the texts in logs, and when they are forgotten.';
COMMENT ON COLUMN replace_plan.engine IS 'Of regular expressions, with its release; empty for literals.';
COMMENT ON COLUMN replace_plan.after_table IS 'The preview has looked at the tables up to this one.';
COMMENT ON COLUMN replace_plan.digest IS 'Of all that was shown; NULL: the preview goes on.';
COMMENT ON COLUMN replace_plan.choice IS 'Which of the shown matches were executed.';
COMMENT ON COLUMN replace_plan.runs IS 'Previews by a worker that began and have not ended.';
COMMENT ON COLUMN replace_plan.undo_until IS 'NULL: it cannot be undone.';
COMMENT ON COLUMN replace_plan.saved_at IS 'When something of it was last written.';
COMMENT ON COLUMN replace_plan.texts_until IS
    'When its request and its strings are forgotten; NULL: they are.';
COMMENT ON COLUMN replace_plan.kept_until IS 'When its row goes.';
ALTER TABLE replace_plan ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON replace_plan USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

CREATE TABLE replace_table (
    plan_id bigint NOT NULL REFERENCES replace_plan (id) ON DELETE CASCADE,
    table_id bigint NOT NULL,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done', 'skipped')),
    reason text,
    revision_seen bigint NOT NULL,
    revision_before bigint,
    revision_after bigint,
    bytes bigint NOT NULL,
    matches int NOT NULL,
    replaced int NOT NULL DEFAULT 0,
    kept int NOT NULL DEFAULT 0,
    runs int NOT NULL DEFAULT 0,
    PRIMARY KEY (plan_id, table_id)
);
CREATE INDEX replace_table_table ON replace_table (table_id);
COMMENT ON TABLE replace_table IS 'A document of a plan; it may be gone by now.';
COMMENT ON COLUMN replace_table.reason IS 'Why it was skipped.';
COMMENT ON COLUMN replace_table.revision_seen IS 'What the preview looked at.';
COMMENT ON COLUMN replace_table.kept IS 'Places that an undo left alone.';
COMMENT ON COLUMN replace_table.runs IS 'Workers who began it and have not ended.';
ALTER TABLE replace_table ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON replace_table USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM replace_plan WHERE replace_plan.id = plan_id));

CREATE TABLE replace_string (
    plan_id bigint NOT NULL,
    table_id bigint NOT NULL,
    position int NOT NULL,
    json_pointer text NOT NULL,
    first_match int NOT NULL,
    matches int NOT NULL,
    before_hash bytea NOT NULL,
    after_hash bytea NOT NULL,
    final_hash bytea,
    edits bytea,
    PRIMARY KEY (plan_id, table_id, position),
    FOREIGN KEY (plan_id, table_id) REFERENCES replace_table ON DELETE CASCADE
);
CREATE INDEX replace_string_match ON replace_string (plan_id, first_match);
ALTER TABLE replace_string ALTER COLUMN edits SET STORAGE EXTERNAL;  -- it is compressed already
COMMENT ON TABLE replace_string IS 'A string that a plan changes. The document''s text is not kept here.';
COMMENT ON COLUMN replace_string.position IS 'Among the strings of the document, from 0.';
COMMENT ON COLUMN replace_string.first_match IS 'The number of its first match in the plan, from 1.';
COMMENT ON COLUMN replace_string.before_hash IS 'sha256 of the string as it was shown.';
COMMENT ON COLUMN replace_string.after_hash IS 'sha256 of the string with all matches replaced.';
COMMENT ON COLUMN replace_string.final_hash IS 'sha256 of the string as it was written.';
COMMENT ON COLUMN replace_string.edits IS 'zlib of the JSON text [[start, found, becomes], ...]: what was executed.';
ALTER TABLE replace_string ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON replace_string USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM replace_plan WHERE replace_plan.id = plan_id));

-- Texts of a document go with it, whoever deletes it.
CREATE FUNCTION planned_table_deleted() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    DELETE FROM replace_string USING replace_table
    WHERE replace_table.table_id = OLD.id
      AND replace_string.plan_id = replace_table.plan_id AND replace_string.table_id = OLD.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER context_search_planned_deleted AFTER DELETE ON public.context_table
    FOR EACH ROW EXECUTE FUNCTION planned_table_deleted();

ALTER TABLE mcp
    ADD COLUMN replacing text NOT NULL DEFAULT 'off'
        CHECK (replacing IN ('off', 'propose', 'execute')),
    ADD COLUMN confirmation text NOT NULL DEFAULT 'client'
        CHECK (confirmation IN ('client', 'required'));
COMMENT ON COLUMN mcp.replacing IS 'Whether its agents may preview replacements, or execute them, too.';
COMMENT ON COLUMN mcp.confirmation IS 'Who asks a person before something is replaced: the client, or the server.';
