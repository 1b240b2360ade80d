-- How much of a project is indexed, and which indexes nobody searches. docs/consistency.md

ALTER TABLE search_index ADD COLUMN last_searched_at timestamptz;  -- to the minute
ALTER TABLE search_index ADD COLUMN evicted_at timestamptz;
CREATE INDEX search_index_project ON search_index (project_id);

-- Chunks and documents of each namespace, as what every statement on chunks has added or taken.
-- The sums are exact, and two writers never wait for each other; cleanup keeps the rows few.
CREATE TABLE chunk_tally (
    namespace text NOT NULL REFERENCES index_generation (namespace) ON DELETE CASCADE,
    chunks bigint NOT NULL,
    documents bigint NOT NULL
);
CREATE INDEX chunk_tally_namespace ON chunk_tally (namespace);

CREATE FUNCTION context_search_tally_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sign CONSTANT int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO chunk_tally (namespace, chunks, documents)
    SELECT turbopuffer_namespace, sign * count(*), sign * sum(window_count) FROM changed
    WHERE EXISTS (  -- not when the generation itself is being deleted
        SELECT FROM index_generation WHERE namespace = turbopuffer_namespace)
    GROUP BY turbopuffer_namespace;
    RETURN NULL;
END $$;
CREATE TRIGGER context_search_tally_new_chunks AFTER INSERT ON chunks
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION context_search_tally_chunks();
CREATE TRIGGER context_search_tally_gone_chunks AFTER DELETE ON chunks
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION context_search_tally_chunks();
INSERT INTO chunk_tally (namespace, chunks, documents)
SELECT turbopuffer_namespace, count(*), sum(window_count) FROM chunks
WHERE turbopuffer_namespace IN (SELECT namespace FROM index_generation)
GROUP BY turbopuffer_namespace;

-- What each generation that is not retired holds. A number of a vector takes 4 bytes.
CREATE VIEW generation_usage AS
SELECT generation.id AS generation_id, search_index.id AS index_id, search_index.project_id,
       generation.state,
       COALESCE(search_index.last_searched_at, search_index.created_at) AS used_at,
       CAST(sum(chunks) AS bigint) AS chunks,
       CAST(sum(documents) * CAST(generation.config ->> 'dimensions' AS bigint) * 4 AS bigint)
           AS vector_bytes
FROM index_generation AS generation
JOIN search_index ON search_index.id = generation.index_id
JOIN chunk_tally ON chunk_tally.namespace = generation.namespace
WHERE generation.state <> 'retired'
GROUP BY generation.id, search_index.id;

CREATE INDEX node_waiting ON node (generation_id, id)
    WHERE state = 'skipped' AND last_error ->> 'code' = 'PROJECT_FULL';
