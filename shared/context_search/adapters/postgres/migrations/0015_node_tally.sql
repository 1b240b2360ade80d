-- The status of an index adds up what changed instead of counting what there is.

CREATE TABLE node_tally (
    generation_id bigint NOT NULL REFERENCES index_generation (id) ON DELETE CASCADE,
    nodes bigint NOT NULL
);
CREATE INDEX node_tally_generation ON node_tally (generation_id);
COMMENT ON TABLE node_tally IS
    'What a statement on node has added to a generation, or taken. The sums are exact, and two writers never wait for each other; cleanup keeps the rows few.';

CREATE FUNCTION tally_nodes() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
DECLARE
    sign CONSTANT int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO node_tally (generation_id, nodes)
    SELECT generation_id, sign * count(*) FROM changed
    WHERE EXISTS (  -- not when the generation itself is being deleted
        SELECT FROM index_generation WHERE index_generation.id = generation_id)
    GROUP BY generation_id;
    RETURN NULL;
END $$;
CREATE TRIGGER tally_new_nodes AFTER INSERT ON node
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_nodes();
CREATE TRIGGER tally_gone_nodes AFTER DELETE ON node
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_nodes();

-- Both sides are read as they were at one moment, so nobody has to wait while it counts.
CREATE FUNCTION mend_node_tally(generation bigint) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    INSERT INTO node_tally (generation_id, nodes)
    SELECT generation, missing FROM (
        SELECT (SELECT count(*) FROM node WHERE generation_id = generation)
             - (SELECT COALESCE(sum(nodes), 0) FROM node_tally WHERE generation_id = generation)
    ) AS counted (missing)
    WHERE missing <> 0
      AND EXISTS (SELECT FROM index_generation WHERE index_generation.id = generation);
$$;
COMMENT ON FUNCTION mend_node_tally(bigint) IS
    'Makes the sum of a generation what there is: for rows older than the triggers, or written past them.';
