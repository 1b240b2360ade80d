-- Versions of tables: what a revision was, who made it, and its content in pieces. Search and replace:
-- plans, with every string that they change, before and after.

CREATE TABLE table_version (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL,
    table_id bigint NOT NULL REFERENCES public.context_table (id) ON DELETE CASCADE,
    revision bigint NOT NULL,
    cause text,
    actor text,
    request_id text,
    plan_id bigint,
    label text,
    bytes bigint,
    sha256 bytea,
    pieces bytea[],
    gap text,
    created_at timestamptz,
    overwritten_at timestamptz,
    UNIQUE (table_id, project_id, revision)
);
-- What leaves first when a project keeps too much.
CREATE INDEX table_version_oldest ON table_version (project_id, overwritten_at)
    WHERE sha256 IS NOT NULL AND label IS NULL;
COMMENT ON TABLE table_version IS
    'A revision of a table, in the project that the table was in. docs/editing.md';
COMMENT ON COLUMN table_version.cause IS
    'create, put, patch, import, replace, undo, restore, or sql: another program. NULL: the table is older than its record, as an adopted one.';
COMMENT ON COLUMN table_version.actor IS 'Who changed the document: a key by its id, or the hash of a token''s subject.';
COMMENT ON COLUMN table_version.plan_id IS 'The plan of replacements that changed it.';
COMMENT ON COLUMN table_version.bytes IS 'Of the JSON text, where it is recorded.';
COMMENT ON COLUMN table_version.sha256 IS 'Of the JSON text. NULL: not recorded; the live revision needs no record.';
COMMENT ON COLUMN table_version.pieces IS 'The sha256 of each piece, in order.';
COMMENT ON COLUMN table_version.gap IS 'Why an overwritten revision is not recorded; NULL: another program overwrote it.';
COMMENT ON COLUMN table_version.overwritten_at IS 'When our API wrote the next revision: its age counts from then.';
ALTER TABLE table_version ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON table_version USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

CREATE TABLE version_piece (
    project_id bigint NOT NULL,
    table_id bigint NOT NULL REFERENCES public.context_table (id) ON DELETE CASCADE,
    sha256 bytea NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (table_id, project_id, sha256)
);
ALTER TABLE version_piece ALTER COLUMN content SET STORAGE EXTERNAL;  -- it is compressed already
COMMENT ON TABLE version_piece IS
    'A piece of the JSON text of versions of one table, stored once; never shared with another table.';
COMMENT ON COLUMN version_piece.sha256 IS 'Of the piece before it was compressed.';
COMMENT ON COLUMN version_piece.content IS 'zlib.';
ALTER TABLE version_piece ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON version_piece USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

CREATE TABLE table_history (
    table_id bigint NOT NULL REFERENCES public.context_table (id) ON DELETE CASCADE,
    project_id bigint NOT NULL,
    bytes bigint NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (table_id, project_id)
);
CREATE INDEX table_history_project ON table_history (project_id) INCLUDE (bytes);
CREATE INDEX table_history_due ON table_history (due_at);
COMMENT ON TABLE table_history IS
    'The versions of a table as a whole. Whoever records or collects pieces has locked the row.';
COMMENT ON COLUMN table_history.bytes IS 'Of its pieces, as they are stored.';
COMMENT ON COLUMN table_history.due_at IS 'When cleanup looks at it.';
ALTER TABLE table_history ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON table_history USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

-- Every revision has its version, whoever writes it. What we change says so in
-- context_search.origin, for this table and this transaction only: what another program writes, or
-- a trigger of the tables' owner, has no origin. A revision that somebody set back begins anew.
CREATE FUNCTION version_added() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
DECLARE
    origin jsonb := NULLIF(current_setting('context_search.origin', true), '');
BEGIN
    IF NEW.project_id IS NULL THEN
        RETURN NULL;
    END IF;
    -- Who writes has this row locked from here on: no piece that he finds is collected meanwhile.
    -- No history is looked at more than once an hour for what others write; a new one has no past.
    INSERT INTO table_history (table_id, project_id, due_at)
    VALUES (NEW.id, NEW.project_id,
            CASE TG_OP WHEN 'INSERT' THEN 'infinity' ELSE now() + interval '1 hour' END)
    ON CONFLICT (table_id, project_id) DO UPDATE SET due_at = excluded.due_at
    WHERE table_history.due_at > excluded.due_at;
    IF EXISTS (SELECT FROM project_settings
               WHERE project_id = NEW.project_id AND kind = 'history'
                 AND settings ->> 'keep_count' = '0') THEN
        RETURN NULL;
    END IF;
    IF (TG_OP = 'INSERT') IS DISTINCT FROM (origin ->> 'cause' = 'create')
        OR TG_OP = 'UPDATE' AND origin ->> 'table_id' IS DISTINCT FROM CAST(NEW.id AS text)
    THEN
        origin := NULL;
    END IF;
    INSERT INTO table_version (
        project_id, table_id, revision, cause, actor, request_id, plan_id, created_at)
    VALUES (NEW.project_id, NEW.id, NEW.revision, COALESCE(origin ->> 'cause', 'sql'),
            origin ->> 'actor', origin ->> 'request_id', CAST(origin ->> 'plan_id' AS bigint),
            clock_timestamp())
    ON CONFLICT (table_id, project_id, revision) DO UPDATE SET
        cause = excluded.cause, actor = excluded.actor, request_id = excluded.request_id,
        plan_id = excluded.plan_id, created_at = excluded.created_at, label = NULL, bytes = NULL, sha256 = NULL, pieces = NULL,
        gap = NULL, overwritten_at = NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER context_search_version_added AFTER INSERT ON public.context_table
    FOR EACH ROW EXECUTE FUNCTION version_added();
CREATE TRIGGER context_search_version_changed AFTER UPDATE ON public.context_table
    FOR EACH ROW WHEN (OLD.revision IS DISTINCT FROM NEW.revision) EXECUTE FUNCTION version_added();

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
    is_only boolean NOT NULL DEFAULT false,
    edits bytea,
    PRIMARY KEY (plan_id, table_id, position),
    FOREIGN KEY (plan_id, table_id) REFERENCES replace_table ON DELETE CASCADE
);
ALTER TABLE replace_string ALTER COLUMN edits SET STORAGE EXTERNAL;  -- it is compressed already
CREATE INDEX replace_string_match ON replace_string (plan_id, first_match);
COMMENT ON TABLE replace_string IS 'A string that a plan changes. The document''s text is not kept here.';
COMMENT ON COLUMN replace_string.position IS 'Among the strings of the document, from 0.';
COMMENT ON COLUMN replace_string.first_match IS 'The number of its first match in the plan, from 1.';
COMMENT ON COLUMN replace_string.before_hash IS 'sha256 of the string as it was shown.';
COMMENT ON COLUMN replace_string.after_hash IS 'sha256 of the string with all matches replaced.';
COMMENT ON COLUMN replace_string.final_hash IS 'sha256 of the string as it was written.';
COMMENT ON COLUMN replace_string.is_only IS 'No other string of the document had this text when it was written.';
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
