-- What a search reads beside chunks: words, fields, settings, permits, and rankings with further
-- pages.

-- Beside chunks, not in it: marking a chunk as present would write all of its keys a second time.
-- Without a policy, which would keep Postgres from using the index; it holds no text.
CREATE TABLE chunk_words (
    chunk_id bigint PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    set_id bigint NOT NULL,
    generation_id bigint NOT NULL,
    token_count int NOT NULL,
    words tsvector NOT NULL
);
CREATE INDEX chunk_words_words ON chunk_words USING gin (words);
CREATE INDEX chunk_words_generation ON chunk_words (generation_id);
COMMENT ON TABLE chunk_words IS
    'The words of a present chunk, for keyword search in Postgres. docs/decisions/0014-postgres-keywords.md';
COMMENT ON COLUMN chunk_words.token_count IS 'With repetitions.';
COMMENT ON COLUMN chunk_words.words IS 'Each with the id of its index before it.';

CREATE TABLE words_backlog (
    set_id bigint PRIMARY KEY REFERENCES chunk_set (id) ON DELETE CASCADE,
    generation_id bigint NOT NULL
);
CREATE INDEX context_search_words_backlog_generation ON words_backlog (generation_id, set_id);
COMMENT ON TABLE words_backlog IS
    'An active chunk set with chunks whose words are not written yet, or were deleted by hand; cleanup writes them.';
COMMENT ON COLUMN words_backlog.generation_id IS 'Of its node.';

-- Words that go with their chunk, by the foreign key, go inside of another trigger.
CREATE FUNCTION words_gone() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    INSERT INTO words_backlog (set_id, generation_id)
    SELECT chunk_set.id, generation_id FROM chunk_set JOIN node ON node.id = node_id
    WHERE TG_OP = 'TRUNCATE' OR chunk_set.id = OLD.set_id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER words_gone AFTER DELETE ON chunk_words
    FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION words_gone();
CREATE TRIGGER words_truncated AFTER TRUNCATE ON chunk_words
    FOR EACH STATEMENT EXECUTE FUNCTION words_gone();

-- As the owner, who is bound by no policy: with one, Postgres tests it on each row first, and the
-- index on fields is of no use. Whose generation it is is tested once.
CREATE FUNCTION strings_let_through(
    generation bigint, wanted jsonpath, scope text, tables bigint[], most bigint
) RETURNS SETOF text LANGUAGE plpgsql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    -- Text of its own for each filter: what it asks for decides whether the index helps.
    RETURN QUERY EXECUTE format(
        $statement$
        SELECT json_pointer FROM node
        WHERE generation_id = $1 AND active_set_id IS NOT NULL AND fields @@ %L
          AND ($2 = '' OR json_pointer = $2 OR starts_with(json_pointer, $2 || '/'))
          AND ($3 IS NULL OR table_id = ANY($3))
          AND EXISTS (
              SELECT FROM index_generation
              JOIN search_index ON search_index.id = index_generation.index_id
              WHERE index_generation.id = $1 AND current_setting('context_search.project_id', true)
                  IN ('*', CAST(search_index.project_id AS text)))
        LIMIT $4
        $statement$, wanted)
    USING generation, scope, tables, most;
END $$;
COMMENT ON FUNCTION strings_let_through(bigint, jsonpath, text, bigint[], bigint) IS
    'Pointers of searchable strings of a generation whose fields a path is true for.';

CREATE UNLOGGED TABLE permit (
    pool text NOT NULL,
    number int NOT NULL,
    holder text,
    lease_until timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (pool, number)
) WITH (fillfactor = 50);
CREATE INDEX permit_unused ON permit (lease_until);
COMMENT ON TABLE permit IS
    'A place among the searches of a project, or the queries of a namespace, that go on at once. Not logged: after a crash all are free.';
COMMENT ON COLUMN permit.holder IS 'Who has it until lease_until.';

CREATE UNLOGGED TABLE ranking (
    name text PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES public.project (id) ON DELETE CASCADE,
    body jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ranking_project ON ranking (project_id, created_at);
CREATE INDEX ranking_age ON ranking (created_at);
COMMENT ON TABLE ranking IS
    'The hits of a project search with further pages, for as long as a cursor is good. Not logged: a crash costs cursors only.';
COMMENT ON COLUMN ranking.name IS 'What the cursor names.';
ALTER TABLE ranking ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON ranking USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));
