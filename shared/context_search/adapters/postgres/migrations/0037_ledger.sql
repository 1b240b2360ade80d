-- What is spent on models for a project, a row a day. One upsert a batch of chunks, or a reranked
-- search, so the row is written often: fillfactor leaves room for versions of it on its page.

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
