-- What cleanup and operators work with: what still has to leave turbopuffer, deleted projects, the
-- last run, what was spent, and the id of the deployment.

CREATE TABLE tombstone (
    namespace text NOT NULL,
    doc_id text NOT NULL,
    window_count int NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    PRIMARY KEY (namespace, doc_id)
);
CREATE INDEX tombstone_created ON tombstone (created_at);
CREATE INDEX context_search_tombstone_new ON tombstone (created_at) WHERE deleted_at IS NULL;
COMMENT ON TABLE tombstone IS
    'A document that has to leave turbopuffer. Written by a trigger, so that no cascade forgets one.';
COMMENT ON COLUMN tombstone.window_count IS 'It is as many documents, one for each window.';
COMMENT ON COLUMN tombstone.deleted_at IS 'The first delete; a second follows after the grace.';

CREATE FUNCTION add_tombstones() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    INSERT INTO tombstone (namespace, doc_id, window_count)
    SELECT turbopuffer_namespace, turbopuffer_doc_id, window_count FROM gone
    ORDER BY turbopuffer_namespace, turbopuffer_doc_id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER add_tombstones AFTER DELETE ON chunks
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION add_tombstones();

-- Projects that an operator deleted, until the last of their rows is gone. A table of ours, not a
-- column: project may be another program's.
CREATE TABLE project_removal (
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

CREATE TABLE cleanup_run (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    finished_at timestamptz NOT NULL,
    seconds double precision NOT NULL,
    is_complete boolean NOT NULL,
    errors text[] NOT NULL,
    rests_until timestamptz
);
COMMENT ON TABLE cleanup_run IS
    'The last run of cleanup that worked, in one row. Every project may read it, so it has neither ids nor counts.';
COMMENT ON COLUMN cleanup_run.is_complete IS 'False: time ran out first.';
COMMENT ON COLUMN cleanup_run.errors IS 'Codes of steps that failed.';
COMMENT ON COLUMN cleanup_run.rests_until IS 'Until then nothing is known to be due. NULL: it does not rest.';

-- A row a day. One upsert a batch of chunks, or a reranked search, so the row is written often:
-- fillfactor leaves room for versions of it on its page.
CREATE TABLE ledger (
    project_id bigint NOT NULL REFERENCES public.project (id) ON DELETE CASCADE,
    day date NOT NULL,
    embedding_tokens bigint NOT NULL DEFAULT 0,
    reranks bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (project_id, day)
) WITH (fillfactor = 50);
CREATE INDEX ledger_day ON ledger (day);
COMMENT ON TABLE ledger IS
    'What indexing and reranked searches spent on models for a project in a day (UTC). Kept for a year.';
COMMENT ON COLUMN ledger.embedding_tokens IS
    'Tokens of the chunks that were embedded, estimated before they were sent.';
COMMENT ON COLUMN ledger.reranks IS 'Requests to a reranking model.';
ALTER TABLE ledger ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON ledger USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

-- So that two databases on one turbopuffer account never meet.
CREATE TABLE deployment (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id text NOT NULL CHECK (id ~ '^[a-z0-9]{10}$')
);
COMMENT ON TABLE deployment IS 'The one row of this database''s deployment. It never changes.';
COMMENT ON COLUMN deployment.id IS
    'Begins the name of each new turbopuffer namespace. Namespaces with another id are not ours.';
-- Ten hexadecimal digits: 40 random bits.
INSERT INTO deployment (id) VALUES (substr(replace(CAST(gen_random_uuid() AS text), '-', ''), 1, 10));
