-- What is indexed, where, and how far it got. docs/architecture.md has the picture.

-- One configuration of one table. Tools with equal configurations share it.
CREATE TABLE search_index (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    table_id bigint REFERENCES context_table (id) ON DELETE CASCADE,
    config jsonb NOT NULL,
    config_hash text NOT NULL,
    active_generation_id bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (table_id, config_hash)
);

-- One build of an index is one namespace. The row outlives index and table until the namespace is
-- deleted, so no namespace is ever forgotten.
CREATE TABLE index_generation (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    index_id bigint REFERENCES search_index (id) ON DELETE SET NULL,
    number int NOT NULL,
    namespace text NOT NULL UNIQUE,
    state text NOT NULL
        CHECK (state IN ('queued', 'building', 'active', 'previous', 'retired')),
    config jsonb NOT NULL,
    enumerated_revision bigint,             -- of the table, when its strings were last compared
    created_at timestamptz NOT NULL DEFAULT now(),
    switched_at timestamptz,                -- when it became the previous one
    retired_at timestamptz,
    sweep_after text NOT NULL DEFAULT '',   -- document id up to which the orphan sweep has come
    sweep_counts jsonb,                     -- found since the sweep began
    swept_at timestamptz,
    integrity jsonb                         -- the report of the last complete sweep
);
CREATE INDEX index_generation_index ON index_generation (index_id);

-- Which tool keeps which index and scope alive.
CREATE TABLE coverage (
    tool_id bigint PRIMARY KEY REFERENCES tool (id) ON DELETE CASCADE,
    index_id bigint NOT NULL REFERENCES search_index (id) ON DELETE CASCADE,
    scope text NOT NULL
);
CREATE INDEX coverage_index ON coverage (index_id);

-- One big string. content is kept only until its chunks are active: then they hold the text.
CREATE TABLE node (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation_id bigint NOT NULL REFERENCES index_generation (id) ON DELETE CASCADE,
    table_id bigint NOT NULL REFERENCES context_table (id) ON DELETE CASCADE,
    json_pointer text NOT NULL,
    pointer_sha256 bytea NOT NULL,         -- pointers are too long for a btree
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
    UNIQUE (generation_id, pointer_sha256)
);
CREATE INDEX node_table ON node (table_id);
CREATE INDEX node_unfinished ON node (COALESCE(lease_until, next_at))
    WHERE state IN ('queued', 'claimed');
CREATE INDEX node_not_indexed ON node (generation_id, state) WHERE state <> 'indexed';
CREATE INDEX node_active_set ON node (active_set_id);
CREATE INDEX node_progress ON node (generation_id, indexed_at);

-- All chunks of one node for one content.
CREATE TABLE chunk_set (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    node_id bigint NOT NULL REFERENCES node (id) ON DELETE CASCADE,
    content_hash text NOT NULL,
    state text NOT NULL CHECK (state IN ('building', 'active', 'quarantined')),
    chunks_count int NOT NULL,
    present_count int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX chunk_set_live ON chunk_set (node_id, content_hash) WHERE state IN ('building', 'active');
CREATE UNIQUE INDEX chunk_set_active ON chunk_set (node_id) WHERE state = 'active';
-- Deleting a node and swapping its sets look for all of its sets, whatever their state.
CREATE INDEX chunk_set_node ON chunk_set (node_id);

CREATE TABLE chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    table_id bigint NOT NULL REFERENCES context_table (id) ON DELETE CASCADE,
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
    input_hash bytea NOT NULL,             -- of what was embedded
    window_count int NOT NULL DEFAULT 1,
    present boolean NOT NULL DEFAULT false,  -- all windows acknowledged by turbopuffer
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (set_id, chunk_index),
    UNIQUE (turbopuffer_namespace, turbopuffer_doc_id)
);
CREATE INDEX chunks_table ON chunks (table_id);
CREATE INDEX chunks_input ON chunks (input_hash) WHERE present;

-- Documents that must leave turbopuffer. Written by the trigger, so that no cascade forgets one.
CREATE TABLE tombstone (
    namespace text NOT NULL,
    doc_id text NOT NULL,
    window_count int NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,                -- first delete; a second follows after the grace
    PRIMARY KEY (namespace, doc_id)
);
CREATE INDEX tombstone_created ON tombstone (created_at);

CREATE FUNCTION context_search_bury_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tombstone (namespace, doc_id, window_count)
    SELECT turbopuffer_namespace, turbopuffer_doc_id, window_count FROM gone
    ORDER BY turbopuffer_namespace, turbopuffer_doc_id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER context_search_bury_chunks AFTER DELETE ON chunks
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION context_search_bury_chunks();

-- Messages that still have to reach SQS; deleted once sent.
CREATE TABLE outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    body jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz
);

-- Whoever changes a document, by our API or by plain SQL: the revision moves and every index of
-- the table is compared with it again.
CREATE FUNCTION context_search_new_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    NEW.updated_at := now();
    RETURN NEW;
END $$;
CREATE TRIGGER context_search_new_revision BEFORE UPDATE OF data ON context_table
    FOR EACH ROW WHEN (OLD.data IS DISTINCT FROM NEW.data)
    EXECUTE FUNCTION context_search_new_revision();

CREATE FUNCTION context_search_data_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outbox (body)
    SELECT jsonb_build_object('kind', 'enumerate', 'index_id', id)
    FROM search_index WHERE table_id = NEW.id ORDER BY id;
    RETURN NULL;
END $$;
CREATE TRIGGER context_search_data_changed AFTER UPDATE OF data ON context_table
    FOR EACH ROW WHEN (OLD.data IS DISTINCT FROM NEW.data)
    EXECUTE FUNCTION context_search_data_changed();
