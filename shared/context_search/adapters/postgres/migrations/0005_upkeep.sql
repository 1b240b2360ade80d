-- What still has to leave turbopuffer.

CREATE TABLE IF NOT EXISTS tombstone (
    namespace text NOT NULL,
    doc_id text NOT NULL,
    window_count int NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    PRIMARY KEY (namespace, doc_id)
);
CREATE INDEX IF NOT EXISTS tombstone_created ON tombstone (created_at);
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
