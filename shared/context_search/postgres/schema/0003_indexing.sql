-- What is indexed, where, how far it got, and what still has to be done.
-- docs/architecture.md has the picture, docs/consistency.md the protocol.

CREATE TABLE search_index (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES public.project (id) ON DELETE CASCADE,
    table_id bigint REFERENCES public.context_table (id) ON DELETE CASCADE,
    config jsonb NOT NULL,
    config_hash text NOT NULL,
    active_generation_id bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_searched_at timestamptz,
    evicted_at timestamptz,
    evicted_by text CHECK (evicted_by IN ('limit', 'operator')),
    order_error jsonb,
    summarised_at timestamptz,
    filterable text[],
    UNIQUE (table_id, config_hash)
);
CREATE INDEX search_index_project ON search_index (project_id);
CREATE UNIQUE INDEX search_index_of_project ON search_index (project_id)
    WHERE table_id IS NULL;
COMMENT ON TABLE search_index IS
    'One configuration of one table; tools with equal configurations share it. Without table_id: of all tables of the project, at most one.';
COMMENT ON COLUMN search_index.config IS 'Model, dimensions, chunk sizes, threshold, versions.';
COMMENT ON COLUMN search_index.config_hash IS 'Equal for equal configurations.';
COMMENT ON COLUMN search_index.active_generation_id IS 'The generation that searches read.';
COMMENT ON COLUMN search_index.last_searched_at IS 'To the minute.';
COMMENT ON COLUMN search_index.evicted_by IS 'limit: of the project; operator: by hand.';
COMMENT ON COLUMN search_index.order_error IS
    'Why the last message to compare failed; NULL once one has succeeded.';
COMMENT ON COLUMN search_index.summarised_at IS
    'When cleanup last took the index to write the summaries of its tools.';
COMMENT ON COLUMN search_index.filterable IS
    'Names of the fields that are kept with its strings, to filter by. NULL: none.';
ALTER TABLE search_index ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON search_index USING (
    (SELECT current_setting('context_search.project_id', true)) IN ('*', CAST(project_id AS text)));

CREATE TABLE index_generation (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    index_id bigint REFERENCES search_index (id) ON DELETE SET NULL,
    number int NOT NULL,
    namespace text NOT NULL UNIQUE,
    state text NOT NULL
        CHECK (state IN ('queued', 'building', 'active', 'previous', 'retired')),
    config jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    switched_at timestamptz,
    retired_at timestamptz,
    sweep_after text NOT NULL DEFAULT '',
    sweep_counts jsonb,
    swept_at timestamptz,
    integrity jsonb,
    calibration jsonb
);
CREATE INDEX index_generation_index ON index_generation (index_id);
COMMENT ON TABLE index_generation IS
    'One build of an index, which is one turbopuffer namespace. Outlives index and table until the namespace is deleted, so that no namespace is forgotten.';
COMMENT ON COLUMN index_generation.number IS 'Within its index, from 1.';
COMMENT ON COLUMN index_generation.switched_at IS 'When it became the previous one.';
COMMENT ON COLUMN index_generation.sweep_after IS
    'Document id up to which the orphan sweep has come.';
COMMENT ON COLUMN index_generation.sweep_counts IS 'What the sweep under way has found so far.';
COMMENT ON COLUMN index_generation.integrity IS 'The report of the last complete sweep.';
COMMENT ON COLUMN index_generation.calibration IS
    'What was found out without judged questions, and on what. NULL: not yet. docs/quality.md';
ALTER TABLE index_generation ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON index_generation USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM search_index WHERE search_index.id = index_id));

CREATE TABLE asked_vectors (
    model text NOT NULL,
    dimensions int NOT NULL,
    questions bytea NOT NULL,
    vectors bytea NOT NULL,
    PRIMARY KEY (model, dimensions)
);
ALTER TABLE asked_vectors ALTER COLUMN vectors SET STORAGE EXTERNAL;  -- it does not compress
COMMENT ON TABLE asked_vectors IS
    'The vectors of the questions that no index answers, embedded once a model.';
COMMENT ON COLUMN asked_vectors.questions IS 'sha256 of the questions, and of the parameters that they were embedded with.';
COMMENT ON COLUMN asked_vectors.vectors IS 'One after the other, as little-endian f32.';

CREATE TABLE coverage (
    tool_id bigint PRIMARY KEY REFERENCES public.tool (id) ON DELETE CASCADE,
    index_id bigint NOT NULL REFERENCES search_index (id) ON DELETE CASCADE,
    scope text NOT NULL
);
CREATE INDEX coverage_index ON coverage (index_id);
COMMENT ON TABLE coverage IS 'A tool needs this scope of that index, and keeps it alive.';
COMMENT ON COLUMN coverage.scope IS 'The JSON pointer where the searched part begins.';
ALTER TABLE coverage ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON coverage USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM search_index WHERE search_index.id = index_id));

CREATE VIEW index_table WITH (security_invoker = true) AS
SELECT search_index.id AS index_id, context_table.id AS table_id, context_table.revision,
    context_table.updated_at
FROM search_index JOIN public.context_table ON context_table.id = search_index.table_id
    AND context_table.project_id = search_index.project_id
WHERE context_table.deleted_at IS NULL AND context_table.context_search_remove_at IS NULL
UNION ALL
SELECT search_index.id, context_table.id, context_table.revision, context_table.updated_at
FROM search_index JOIN public.context_table ON context_table.project_id = search_index.project_id
WHERE search_index.table_id IS NULL
  AND context_table.deleted_at IS NULL AND context_table.context_search_remove_at IS NULL;
COMMENT ON VIEW index_table IS 'The tables of each index that are there, in its own project.';

CREATE VIEW needed_scope WITH (security_invoker = true) AS
SELECT DISTINCT coverage.index_id, coverage.scope
FROM coverage JOIN public.tool ON tool.id = coverage.tool_id
WHERE tool.deleted_at IS NULL AND tool.context_search_remove_at IS NULL
UNION ALL
SELECT id, '' FROM search_index WHERE table_id IS NULL;
COMMENT ON VIEW needed_scope IS
    'The scopes that an index has to hold, each once; of a project''s index the root.';

CREATE TABLE comparison (
    generation_id bigint NOT NULL REFERENCES index_generation (id) ON DELETE CASCADE,
    table_id bigint NOT NULL REFERENCES public.context_table (id) ON DELETE CASCADE,
    revision bigint,
    scopes text[],
    ordered_at timestamptz,
    refused jsonb,
    fields text[],
    sections bytea,
    short_strings jsonb,
    PRIMARY KEY (generation_id, table_id)
);
CREATE INDEX comparison_table ON comparison (table_id);
CREATE INDEX context_search_comparison_gap ON comparison (generation_id) WHERE revision IS NULL;
CREATE INDEX context_search_comparison_refused ON comparison (generation_id)
    WHERE refused IS NOT NULL;
COMMENT ON TABLE comparison IS
    'How far the nodes of a generation follow a table. No row: never compared.';
COMMENT ON COLUMN comparison.revision IS
    'Of the table, when it was compared. NULL: to be compared, whatever it is.';
COMMENT ON COLUMN comparison.scopes IS
    'For which scopes it was compared, in the order of the collation C.';
COMMENT ON COLUMN comparison.ordered_at IS
    'When a comparison was last ordered; a lost message is given again by cleanup.';
COMMENT ON COLUMN comparison.refused IS
    'Why the document cannot be indexed as it is. NULL: it can, or nobody tried.';
COMMENT ON COLUMN comparison.fields IS 'Names of the fields that its nodes have.';
COMMENT ON COLUMN comparison.sections IS
    'Digest of revision, scopes and the rows of compared_section. Where it is another one, or NULL, these are not to be trusted.';
COMMENT ON COLUMN comparison.short_strings IS
    'By scope: how many strings are not blank and shorter than the threshold of the index. NULL: nobody has counted.';
-- Rows of comparison, node and chunks are many: one look at the table's project is enough.
ALTER TABLE comparison ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON comparison USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM public.context_table WHERE context_table.id = comparison.table_id AND
        CAST(context_table.project_id AS text) = current_setting('context_search.project_id', true)));

CREATE TABLE compared_section (
    generation_id bigint NOT NULL,
    table_id bigint NOT NULL,
    digest bytea NOT NULL,
    keys bytea NOT NULL,
    pointer_chars bigint NOT NULL,
    short_strings int[] NOT NULL,
    PRIMARY KEY (generation_id, table_id, digest),
    FOREIGN KEY (generation_id, table_id)
        REFERENCES comparison (generation_id, table_id) ON DELETE CASCADE
) WITH (toast_tuple_target = 128);
ALTER TABLE compared_section ALTER COLUMN keys SET STORAGE EXTERNAL;
-- A comparison reads both of every section, and the keys of few: only these may lie elsewhere.
ALTER TABLE compared_section
    ALTER COLUMN digest SET STORAGE MAIN,
    ALTER COLUMN short_strings SET STORAGE MAIN;
COMMENT ON TABLE compared_section IS
    'A section of a large document, as a generation was last compared with it.';
COMMENT ON COLUMN compared_section.digest IS 'sha256 of its place and its text.';
COMMENT ON COLUMN compared_section.keys IS
    'The nodes that the generation has of it: the first 16 bytes of each pointer_sha256.';
COMMENT ON COLUMN compared_section.pointer_chars IS
    'Length of their pointers, one for each chunk.';
COMMENT ON COLUMN compared_section.short_strings IS
    'The same of a section, in the order of comparison.scopes.';

CREATE TABLE node (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation_id bigint NOT NULL REFERENCES index_generation (id) ON DELETE CASCADE,
    table_id bigint NOT NULL REFERENCES public.context_table (id) ON DELETE CASCADE,
    json_pointer text NOT NULL,
    pointer_sha256 bytea NOT NULL,  -- pointers are too long for a btree
    content_hash text NOT NULL,
    char_count int NOT NULL,
    content text,
    state text NOT NULL CHECK (state IN ('queued', 'claimed', 'indexed', 'quarantined', 'skipped')),
    fence bigint NOT NULL DEFAULT 0,
    attempt int NOT NULL DEFAULT 0,
    lease_until timestamptz,
    next_at timestamptz NOT NULL DEFAULT now(),
    last_error jsonb,
    active_set_id bigint,
    changed_at timestamptz NOT NULL DEFAULT now(),
    indexed_at timestamptz,
    fields jsonb,
    UNIQUE (generation_id, table_id, pointer_sha256)
);
CREATE INDEX node_table ON node (table_id);
CREATE INDEX node_unfinished ON node (COALESCE(lease_until, next_at))
    WHERE state IN ('queued', 'claimed');
CREATE INDEX node_active_set ON node (active_set_id);
CREATE INDEX node_progress ON node (generation_id, indexed_at);
CREATE INDEX node_indexed_at ON node (indexed_at) WHERE indexed_at IS NOT NULL;
CREATE INDEX node_waiting ON node (generation_id, id)
    WHERE state = 'skipped' AND last_error ->> 'code' = 'PROJECT_FULL';
CREATE INDEX context_search_node_fields ON node USING gin (fields jsonb_path_ops)
    WHERE fields IS NOT NULL;
CREATE INDEX context_search_node_queued ON node (generation_id, next_at) WHERE state = 'queued';
CREATE INDEX context_search_node_error
    ON node (generation_id, (last_error ->> 'at') DESC NULLS LAST, id DESC)
    WHERE last_error IS NOT NULL;
CREATE INDEX context_search_node_place
    ON node (generation_id, table_id, (left(json_pointer, 200)) COLLATE "C", id);
CREATE INDEX context_search_node_unfinished
    ON node (generation_id, state, table_id, (left(json_pointer, 200)) COLLATE "C", id)
    WHERE state <> 'indexed';
COMMENT ON TABLE node IS 'One long string of a document.';
COMMENT ON COLUMN node.pointer_sha256 IS 'Of json_pointer, which is too long for a key.';
COMMENT ON COLUMN node.content_hash IS 'sha256 of the string in UTF-8, hexadecimal.';
COMMENT ON COLUMN node.content IS 'The string, until its chunks are active: then they hold it.';
COMMENT ON COLUMN node.fence IS 'Counts claims; who has an older number may not write any more.';
COMMENT ON COLUMN node.attempt IS 'Failed runs for this content.';
COMMENT ON COLUMN node.lease_until IS 'Until then the node belongs to the worker that claimed it.';
COMMENT ON COLUMN node.next_at IS 'When it may be claimed next.';
COMMENT ON COLUMN node.active_set_id IS 'The chunk set that searches read.';
COMMENT ON COLUMN node.changed_at IS 'When the string last changed.';
COMMENT ON COLUMN node.fields IS
    'Values by name: a string, a number, a boolean, or an array of them. NULL: not noted.';
ALTER TABLE node ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON node USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM public.context_table WHERE context_table.id = node.table_id AND
        CAST(context_table.project_id AS text) = current_setting('context_search.project_id', true)));

-- Who deletes nodes or chunks by hand makes a gap. It is noted here, and the comparison of the table
-- with its document, which cleanup orders within minutes, closes it. What we delete ourselves goes
-- with its set or node, or is followed by a note of the comparison.
-- Triggers work for whoever changes a row, with or without the setting of policies: as the owner.
CREATE FUNCTION nodes_gone() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    UPDATE comparison SET revision = NULL
    FROM (SELECT DISTINCT generation_id, table_id FROM gone) AS lost
    WHERE comparison.generation_id = lost.generation_id AND comparison.table_id = lost.table_id
      AND comparison.revision IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER nodes_gone AFTER DELETE ON node
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION nodes_gone();

CREATE TABLE chunk_set (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id bigint NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    content_hash text NOT NULL,
    state text NOT NULL CHECK (state IN ('partial', 'active')),
    chunks_count int NOT NULL,
    present_count int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX chunk_set_active ON chunk_set (node_id) WHERE state = 'active';
-- Deleting a node and swapping its sets look for all of its sets, whatever their state.
CREATE INDEX chunk_set_node ON chunk_set (node_id);
CREATE UNIQUE INDEX chunk_set_partial ON chunk_set (node_id) WHERE state = 'partial';
CREATE INDEX context_search_chunk_set_unready ON chunk_set (node_id)
    WHERE state <> 'active' OR present_count < chunks_count;
COMMENT ON TABLE chunk_set IS 'All chunks of one node for one content.';
COMMENT ON COLUMN chunk_set.state IS
    'partial: on the way to be active, and some of its chunks may still be in the active set; the swap moves them.';
COMMENT ON COLUMN chunk_set.present_count IS
    'Chunks that turbopuffer has acknowledged; in a partial set, where it has come: the chunk_index behind the last one.';
ALTER TABLE chunk_set ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON chunk_set USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM node WHERE node.id = node_id));

-- No foreign key to the table: chunks go with their nodes. A second way from the table to them made
-- a worker, which holds its node, wait for whoever deletes the table, who waits for the node.
CREATE TABLE chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_id bigint NOT NULL,
    set_id bigint NOT NULL REFERENCES chunk_set (id) ON DELETE CASCADE,
    json_pointer text NOT NULL,
    chunk_index int NOT NULL,
    total_chunks int NOT NULL,
    chunk_text text NOT NULL,
    char_start int NOT NULL,
    char_end int NOT NULL,
    content_hash text NOT NULL,
    turbopuffer_namespace text NOT NULL,
    turbopuffer_doc_id text COLLATE "C" NOT NULL,  -- turbopuffer's own order, which sweeps follow
    input_hash bytea NOT NULL,
    window_count int NOT NULL DEFAULT 1,
    present boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    rows_hash bytea NOT NULL,
    UNIQUE (set_id, chunk_index),
    UNIQUE (turbopuffer_namespace, turbopuffer_doc_id)
);
CREATE INDEX chunks_table ON chunks (table_id);
CREATE INDEX chunks_input ON chunks (input_hash) WHERE present;
COMMENT ON TABLE chunks IS 'A slice of a long string, with its place and its id in turbopuffer.';
COMMENT ON COLUMN chunks.chunk_index IS 'Within its set, from 0.';
COMMENT ON COLUMN chunks.char_start IS 'First character in the string, from 0, in code points.';
COMMENT ON COLUMN chunks.char_end IS 'Behind the last character, in code points.';
COMMENT ON COLUMN chunks.content_hash IS 'Of the whole string, as in node.';
COMMENT ON COLUMN chunks.input_hash IS 'Of what was embedded: equal input takes the old vector.';
COMMENT ON COLUMN chunks.window_count IS 'Documents in turbopuffer: one for each window of tokens.';
COMMENT ON COLUMN chunks.present IS
    'false: turbopuffer has lost it. true, in an active set: it has it; in a partial set: it does if chunk_index is less than present_count of the set.';
COMMENT ON COLUMN chunks.rows_hash IS
    'sha256 of all that its rows in turbopuffer hold of the text: what was embedded, and the lines above it.';
ALTER TABLE chunks ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON chunks USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM public.context_table WHERE context_table.id = chunks.table_id AND
        CAST(context_table.project_id AS text) = current_setting('context_search.project_id', true)));

-- A set that is there lacks a chunk: its node, which has no text of its own, begins anew.
CREATE FUNCTION chunks_gone() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    DELETE FROM node WHERE id IN (
        SELECT node_id FROM chunk_set WHERE chunk_set.id IN (SELECT set_id FROM gone));
    RETURN NULL;
END $$;
CREATE TRIGGER chunks_gone AFTER DELETE ON chunks
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION chunks_gone();

CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL DEFAULT 0,
    key text,
    body jsonb NOT NULL,
    is_long boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    claimed_at timestamptz,
    claimed_until timestamptz,
    sent_at timestamptz,
    begun_at timestamptz,
    due_at timestamptz,
    times_lost integer NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX outbox_open ON outbox (key) WHERE begun_at IS NULL;
CREATE INDEX outbox_key ON outbox (key);
CREATE INDEX outbox_waiting ON outbox (project_id, id) WHERE sent_at IS NULL;
CREATE INDEX outbox_claimed ON outbox (project_id)
    WHERE sent_at IS NULL AND claimed_until IS NOT NULL;
CREATE INDEX outbox_sent ON outbox (project_id) WHERE sent_at IS NOT NULL;
CREATE INDEX context_search_outbox_comparison ON outbox ((body ->> 'index_id'))
    WHERE body ->> 'kind' = 'enumerate';
CREATE INDEX context_search_outbox_comparisons_first ON outbox (project_id, id)
    WHERE sent_at IS NULL AND body ->> 'kind' = 'enumerate';
COMMENT ON TABLE outbox IS
    'A message, written in the transaction that causes it, until it is done. Equal messages that nobody has begun are one; a project has only some of them in the queue at a time.';
COMMENT ON COLUMN outbox.project_id IS 'Whose share of the queue it takes; 0: nobody knows.';
COMMENT ON COLUMN outbox.key IS 'Equal for messages of which one is enough; NULL: it names the strings of several messages.';
COMMENT ON COLUMN outbox.body IS 'The message, ids only.';
COMMENT ON COLUMN outbox.is_long IS 'For a very long string: these have a smaller share.';
COMMENT ON COLUMN outbox.claimed_at IS 'When it was to be sent first.';
COMMENT ON COLUMN outbox.claimed_until IS 'Until then somebody is sending it.';
COMMENT ON COLUMN outbox.sent_at IS 'The queue took it.';
COMMENT ON COLUMN outbox.begun_at IS
    'A worker has it: what is written from now on is a new message.';
COMMENT ON COLUMN outbox.due_at IS 'It rests until then.';
COMMENT ON COLUMN outbox.times_lost IS 'How often its message was taken for lost.';

-- Whoever changes a document, by our API or by plain SQL: every index of the table is compared with
-- it again. DO UPDATE, though it changes nothing: it locks the message that is there until this
-- transaction ends. So no worker begins that message, reads the document as it was before, and calls
-- it done.
CREATE FUNCTION data_changed() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    -- Whoever switches project search on locks the project first: either it sees this table then,
    -- or this waits here and sees its index.
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM public.project WHERE id = NEW.project_id FOR KEY SHARE;
    END IF;
    INSERT INTO outbox (body, project_id, key)
    SELECT jsonb_build_object('kind', 'enumerate', 'index_id', id, 'table_id', NEW.id),
           project_id, format('enumerate:%s:%s', id, NEW.id)
    FROM search_index
    WHERE table_id = NEW.id OR table_id IS NULL AND project_id = NEW.project_id ORDER BY id
    ON CONFLICT (key) WHERE begun_at IS NULL DO UPDATE SET key = excluded.key;
    RETURN NULL;
END $$;
CREATE TRIGGER context_search_data_changed AFTER UPDATE OF data ON public.context_table
    FOR EACH ROW WHEN (OLD.data IS DISTINCT FROM NEW.data) EXECUTE FUNCTION data_changed();
CREATE TRIGGER context_search_table_added AFTER INSERT ON public.context_table
    FOR EACH ROW EXECUTE FUNCTION data_changed();
-- What was written to a table in its owner's trash was compared with nothing.
CREATE TRIGGER context_search_table_restored AFTER UPDATE OF deleted_at ON public.context_table
    FOR EACH ROW WHEN (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL)
    EXECUTE FUNCTION data_changed();
