-- Who deletes rows of node or chunks by hand makes a gap. It is noticed here, and the comparison of
-- the table with its document, which cleanup orders within minutes, closes it.
-- What we delete ourselves goes with its set or node, or is followed by a note of the comparison.

CREATE FUNCTION context_search_nodes_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE comparison SET revision = NULL
    FROM (SELECT DISTINCT generation_id, table_id FROM gone) AS lost
    WHERE comparison.generation_id = lost.generation_id AND comparison.table_id = lost.table_id
      AND comparison.revision IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER context_search_nodes_gone AFTER DELETE ON node
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION context_search_nodes_gone();

-- A set that is there lacks a chunk: its node, which has no text of its own, begins anew.
CREATE FUNCTION context_search_chunks_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM node WHERE id IN (
        SELECT node_id FROM chunk_set WHERE chunk_set.id IN (SELECT set_id FROM gone));
    RETURN NULL;
END $$;
CREATE TRIGGER context_search_chunks_gone AFTER DELETE ON chunks
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION context_search_chunks_gone();

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['nodes_gone', 'chunks_gone'] LOOP
        EXECUTE format(
            'ALTER FUNCTION context_search_%s() SECURITY DEFINER SET search_path = %I, pg_temp',
            name, current_schema());
    END LOOP;
END $$;
