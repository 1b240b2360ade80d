-- An index without table_id covers every table of its project; a project has at most one.

CREATE UNIQUE INDEX search_index_of_project ON search_index (project_id) WHERE table_id IS NULL;

-- Two tables of a project have the same pointers.
ALTER TABLE node DROP CONSTRAINT node_generation_id_pointer_sha256_key;
ALTER TABLE node ADD UNIQUE (generation_id, table_id, pointer_sha256);

-- Which revision of a table the nodes of a generation are those of (NULL: they have to be compared,
-- whatever it is), and when a comparison was last ordered. No row: never compared.
CREATE TABLE comparison (
    generation_id bigint NOT NULL REFERENCES index_generation (id) ON DELETE CASCADE,
    table_id bigint NOT NULL REFERENCES context_table (id) ON DELETE CASCADE,
    revision bigint,
    ordered_at timestamptz,
    PRIMARY KEY (generation_id, table_id)
);
CREATE INDEX comparison_table ON comparison (table_id);
INSERT INTO comparison (generation_id, table_id, revision, ordered_at)
SELECT generation.id, search_index.table_id, enumerated_revision, ordered_at
FROM index_generation AS generation JOIN search_index ON search_index.id = generation.index_id
WHERE search_index.table_id IS NOT NULL;
ALTER TABLE index_generation DROP COLUMN enumerated_revision, DROP COLUMN ordered_at;

-- The live tables of each index.
CREATE VIEW index_table AS
SELECT search_index.id AS index_id, context_table.id AS table_id, revision, updated_at
FROM search_index JOIN context_table ON context_table.id = search_index.table_id
WHERE deleted_at IS NULL
UNION ALL
SELECT search_index.id, context_table.id, revision, updated_at
FROM search_index JOIN context_table ON context_table.project_id = search_index.project_id
WHERE search_index.table_id IS NULL AND deleted_at IS NULL;

CREATE OR REPLACE FUNCTION context_search_data_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Whoever switches project search on locks the project first: either it sees this table then,
    -- or this waits here and sees its index.
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM project WHERE id = NEW.project_id FOR KEY SHARE;
    END IF;
    INSERT INTO outbox (body)
    SELECT jsonb_build_object('kind', 'enumerate', 'index_id', id, 'table_id', NEW.id)
    FROM search_index
    WHERE table_id = NEW.id OR table_id IS NULL AND project_id = NEW.project_id ORDER BY id;
    RETURN NULL;
END $$;
CREATE TRIGGER context_search_table_added AFTER INSERT ON context_table
    FOR EACH ROW EXECUTE FUNCTION context_search_data_changed();
