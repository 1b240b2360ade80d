-- The status of an index adds up what changed instead of counting what there is, and lists of its
-- strings cost their page.
--
-- Functions work as the owner, who is bound by no policy: with one, Postgres takes no range of
-- pointers from an index, because left() may tell what it sees. Whose generation it is is tested once.

CREATE TABLE chunk_tally (
    namespace text NOT NULL REFERENCES index_generation (namespace) ON DELETE CASCADE,
    chunks bigint NOT NULL,
    documents bigint NOT NULL
);
CREATE INDEX chunk_tally_namespace ON chunk_tally (namespace);
COMMENT ON TABLE chunk_tally IS
    'What a statement on chunks has added to a namespace, or taken. The sums are exact, and two writers never wait for each other; cleanup keeps the rows few.';
COMMENT ON COLUMN chunk_tally.documents IS 'In turbopuffer: the windows of those chunks.';

CREATE VIEW generation_usage WITH (security_invoker = true) AS
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
COMMENT ON VIEW generation_usage IS 'What each generation that is not retired holds.';
COMMENT ON COLUMN generation_usage.vector_bytes IS 'A number of a vector takes 4 bytes.';

CREATE TABLE node_tally (
    generation_id bigint NOT NULL REFERENCES index_generation (id) ON DELETE CASCADE,
    nodes bigint NOT NULL
);
CREATE INDEX node_tally_generation ON node_tally (generation_id);
COMMENT ON TABLE node_tally IS
    'What a statement on node has added to a generation, or taken. The sums are exact, and two writers never wait for each other; cleanup keeps the rows few.';

-- The counters of a tool whose scope is a part of its index: what changed is added up. cleanup
-- enters the parts; triggers count them from then on; the first sum is made when every transaction
-- that may not have seen the part has ended, so nobody waits for it.
CREATE TABLE counted_part (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation_id bigint NOT NULL REFERENCES index_generation (id) ON DELETE CASCADE,
    scope text NOT NULL,
    seen_from xid8,
    is_summed boolean NOT NULL DEFAULT false,
    is_due boolean NOT NULL DEFAULT true
);
CREATE INDEX counted_part_generation ON counted_part (generation_id);
CREATE INDEX counted_part_due ON counted_part (id) WHERE is_due;
COMMENT ON TABLE counted_part IS
    'The scope of a tool that is a part of what a generation holds: it is counted apart.';
COMMENT ON COLUMN counted_part.seen_from IS
    'Transactions from this one on see the part. NULL: it may be that some of them do not.';
COMMENT ON COLUMN counted_part.is_summed IS 'What part_tally says is what there is.';
COMMENT ON COLUMN counted_part.is_due IS 'cleanup has to compare part_tally with what there is.';
ALTER TABLE counted_part ENABLE ROW LEVEL SECURITY;
CREATE POLICY context_search_project ON counted_part USING (
    (SELECT current_setting('context_search.project_id', true)) = '*'
    OR EXISTS (SELECT FROM index_generation WHERE index_generation.id = generation_id));

CREATE VIEW needed_part WITH (security_invoker = true) AS
SELECT generation.id AS generation_id, needed_scope.scope
FROM index_generation AS generation
JOIN search_index ON search_index.id = generation.index_id
JOIN comparison ON comparison.generation_id = generation.id
               AND comparison.table_id = search_index.table_id
JOIN needed_scope ON needed_scope.index_id = generation.index_id
-- What the generation holds lies outside of the scope, too. The first and the last of its scopes,
-- which are in order, say so of most.
CROSS JOIN LATERAL (SELECT comparison.scopes[1] AS first,
                           comparison.scopes[cardinality(comparison.scopes)] AS last) AS held
WHERE generation.state IN ('active', 'building') AND (
    held.first <> scope AND NOT starts_with(held.first, scope || '/')
    OR held.last <> scope AND NOT starts_with(held.last, scope || '/')
    OR EXISTS (SELECT FROM unnest(comparison.scopes) AS other
               WHERE other <> scope AND NOT starts_with(other, scope || '/')));
COMMENT ON VIEW needed_part IS
    'The scopes of tools that are parts of what a generation of their index holds.';

-- No foreign key: a worker that has just seen a part must not fail because its tool goes.
CREATE TABLE part_tally (
    part_id bigint NOT NULL,
    nodes bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    indexed_at timestamptz
);
CREATE INDEX part_tally_part ON part_tally (part_id);
COMMENT ON TABLE part_tally IS
    'What a statement on node or chunks has added to a part, or taken. The sums are exact, and two writers never wait for each other; cleanup keeps the rows few.';
COMMENT ON COLUMN part_tally.part_id IS 'Of counted_part, or of a part that is gone.';
COMMENT ON COLUMN part_tally.indexed_at IS 'When strings of it were indexed. NULL: none were.';

-- Scopes are found by their lengths: a string costs as many looks as there are lengths, however many
-- parts there are. Planned as a part of the statement that asks, as it sets no path of its own.
CREATE FUNCTION parts_with(generation bigint, json_pointer text) RETURNS TABLE (part_id bigint)
    LANGUAGE sql STABLE AS $$
    SELECT part.id
    FROM (SELECT DISTINCT char_length(scope) AS chars FROM counted_part
          WHERE generation_id = generation) AS long
    JOIN counted_part AS part ON part.generation_id = generation
        AND part.scope = left(json_pointer, chars) AND char_length(part.scope) = chars
    WHERE substr(json_pointer, chars + 1, 1) IN ('', '/');
$$;
COMMENT ON FUNCTION parts_with(bigint, text) IS
    'The counted parts of a generation that hold the string at a pointer.';

CREATE FUNCTION tally_nodes() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
DECLARE
    sign CONSTANT int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
    of_generation bigint;
BEGIN
    FOR of_generation IN
        WITH added AS (
            INSERT INTO node_tally (generation_id, nodes)
            SELECT generation_id, sign * count(*) FROM changed
            WHERE EXISTS (  -- not when the generation itself is being deleted
                SELECT FROM index_generation WHERE index_generation.id = generation_id)
            GROUP BY generation_id RETURNING generation_id)
        SELECT generation_id FROM added CROSS JOIN LATERAL (
            SELECT FROM counted_part WHERE counted_part.generation_id = added.generation_id LIMIT 1
        ) AS has_parts
    LOOP
        INSERT INTO part_tally (part_id, nodes)
        SELECT part.part_id, sign * count(*)
        FROM changed CROSS JOIN LATERAL parts_with(of_generation, json_pointer) AS part
        WHERE generation_id = of_generation
        GROUP BY part.part_id;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER tally_new_nodes AFTER INSERT ON node
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_nodes();
CREATE TRIGGER tally_gone_nodes AFTER DELETE ON node
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_nodes();

CREATE FUNCTION tally_chunks() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
DECLARE
    sign CONSTANT int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
    of_generation bigint;
    of_namespace text;
BEGIN
    FOR of_generation, of_namespace IN
        WITH added AS (
            INSERT INTO chunk_tally (namespace, chunks, documents)
            SELECT turbopuffer_namespace, sign * count(*), sign * sum(window_count) FROM changed
            WHERE EXISTS (  -- not when the generation itself is being deleted
                SELECT FROM index_generation WHERE namespace = turbopuffer_namespace)
            GROUP BY turbopuffer_namespace RETURNING namespace)
        SELECT generation.id, generation.namespace FROM added CROSS JOIN LATERAL (
            SELECT id, namespace FROM index_generation
            WHERE index_generation.namespace = added.namespace LIMIT 1) AS generation
        CROSS JOIN LATERAL (
            SELECT FROM counted_part WHERE generation_id = generation.id LIMIT 1) AS has_parts
    LOOP
        INSERT INTO part_tally (part_id, chunks)
        SELECT part.part_id, sign * count(*)
        FROM changed CROSS JOIN LATERAL parts_with(of_generation, json_pointer) AS part
        WHERE turbopuffer_namespace = of_namespace
        GROUP BY part.part_id;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER tally_new_chunks AFTER INSERT ON chunks
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_chunks();
CREATE TRIGGER tally_gone_chunks AFTER DELETE ON chunks
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_chunks();

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
    'Makes the sum of a generation what there is: for rows written past the triggers.';

-- Both sides are read as they were at one moment, so nobody has to wait while it counts. As the
-- owner: with a policy no range of pointers comes from an index.
CREATE FUNCTION mend_part_tally(part bigint, of_table bigint, first text, last text)
    RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    WITH found AS MATERIALIZED (
        SELECT node.id, node.state, node.active_set_id, node.indexed_at
        FROM counted_part JOIN node ON node.generation_id = counted_part.generation_id
        WHERE counted_part.id = part AND node.table_id = of_table
          AND left(node.json_pointer, 200) COLLATE "C" >= first
          AND left(node.json_pointer, 200) COLLATE "C" < last
          AND (node.json_pointer = scope OR starts_with(node.json_pointer, scope || '/'))),
    active AS (
        SELECT COALESCE(sum(chunks_count), 0) AS chunks
        FROM found JOIN chunk_set ON chunk_set.id = active_set_id),
    building AS (
        SELECT count(*) AS chunks
        FROM found JOIN chunk_set ON node_id = found.id AND chunk_set.state <> 'active'
        JOIN chunks ON set_id = chunk_set.id WHERE found.state <> 'indexed'),
    told AS (
        SELECT COALESCE(sum(nodes), 0) AS nodes, COALESCE(sum(chunks), 0) AS chunks
        FROM part_tally WHERE part_id = part)
    INSERT INTO part_tally (part_id, nodes, chunks, indexed_at)
    SELECT part, (SELECT count(*) FROM found) - told.nodes,
           active.chunks + building.chunks - told.chunks, (SELECT max(indexed_at) FROM found)
    FROM told, active, building;
$$;
COMMENT ON FUNCTION mend_part_tally(bigint, bigint, text, text) IS
    'Makes the sums of a part what there is. Only one may do so at a time.';

CREATE FUNCTION note_indexed(nodes bigint[]) RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    INSERT INTO part_tally (part_id, indexed_at)
    SELECT counted_part.id, max(indexed_at)
    FROM node JOIN counted_part ON counted_part.generation_id = node.generation_id
        AND (json_pointer = scope OR starts_with(json_pointer, scope || '/'))
    WHERE node.id = ANY(nodes) GROUP BY counted_part.id;
$$;
COMMENT ON FUNCTION note_indexed(bigint[]) IS
    'Notes for the parts of nodes that these were indexed just now.';

CREATE FUNCTION counts_below(
    generation bigint, of_table bigint, scope text, first text, last text
) RETURNS TABLE (
    of_state text, nodes bigint, is_full boolean, chunks_made bigint, chunks_present bigint,
    latest_at timestamptz, earliest_at timestamptz, latest_error jsonb
) LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    WITH found AS MATERIALIZED (
        SELECT node.id, node.state, node.last_error, node.indexed_at, node.next_at,
               node.active_set_id
        FROM node
        WHERE node.generation_id = generation AND node.table_id = of_table
          AND left(node.json_pointer, 200) COLLATE "C" >= first
          AND left(node.json_pointer, 200) COLLATE "C" < last
          AND (node.json_pointer = scope OR starts_with(node.json_pointer, scope || '/'))
          AND EXISTS (
              SELECT FROM index_generation JOIN search_index ON search_index.id = index_id
              WHERE index_generation.id = generation AND current_setting(
                  'context_search.project_id', true) IN ('*', CAST(search_index.project_id AS text)))),
    counted AS (
        SELECT found.*, chunk_set.chunks_count, chunk_set.present_count
        FROM found LEFT JOIN chunk_set ON chunk_set.id = found.active_set_id
        WHERE found.active_set_id IS NOT NULL
        UNION ALL
        SELECT found.*, chunk_set.chunks_count, chunk_set.present_count
        FROM found LEFT JOIN chunk_set ON chunk_set.node_id = found.id
                                      AND chunk_set.state = 'partial'
        WHERE found.active_set_id IS NULL)
    SELECT counted.state, count(*),
           bool_or(counted.state = 'skipped' AND counted.last_error ->> 'code' = 'PROJECT_FULL'),
           CAST(COALESCE(sum(counted.chunks_count), 0) AS bigint),
           CAST(COALESCE(sum(counted.present_count), 0) AS bigint), max(counted.indexed_at),
           min(counted.next_at) FILTER (WHERE counted.state = 'queued'),
           (array_agg(counted.last_error
                      ORDER BY counted.last_error ->> 'at' DESC NULLS LAST, counted.id DESC)
            FILTER (WHERE counted.last_error IS NOT NULL))[1]
    FROM counted GROUP BY counted.state $$;
COMMENT ON FUNCTION counts_below(bigint, bigint, text, text, text) IS
    'Sums over the strings of a generation in a scope of a table, by state.';

CREATE FUNCTION counts_of_scope(
    generation bigint, of_table bigint, of_scope text, first text, last text
) RETURNS TABLE (
    of_state text, nodes bigint, is_full boolean, chunks_made bigint, chunks_present bigint,
    latest_at timestamptz, earliest_at timestamptz, latest_error jsonb
) LANGUAGE plpgsql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
DECLARE
    part CONSTANT bigint := (
        SELECT counted_part.id FROM counted_part
        JOIN index_generation ON index_generation.id = generation_id
        JOIN search_index ON search_index.id = index_id
        WHERE generation_id = generation AND scope = of_scope AND is_summed
          AND current_setting('context_search.project_id', true)
              IN ('*', CAST(search_index.project_id AS text)));
BEGIN
    IF part IS NULL THEN
        RETURN QUERY SELECT * FROM counts_below(generation, of_table, of_scope, first, last);
        RETURN;
    END IF;
    RETURN QUERY
    WITH found AS MATERIALIZED (
        SELECT node.id, node.state, node.last_error, node.next_at, node.active_set_id
        FROM node
        WHERE node.generation_id = generation AND node.table_id = of_table
          AND node.state IN ('queued', 'claimed', 'quarantined', 'skipped')
          AND node.state <> 'indexed'
          AND left(node.json_pointer, 200) COLLATE "C" >= first
          AND left(node.json_pointer, 200) COLLATE "C" < last
          AND (node.json_pointer = of_scope OR starts_with(node.json_pointer, of_scope || '/'))),
    unready AS MATERIALIZED (
        SELECT chunk_set.id, chunks_count - present_count AS absent,
               -- the set that answers, or while there is none the one that is being built
               chunk_set.state = 'active' OR active_set_id IS NULL AS is_current
        FROM found JOIN chunk_set ON node_id = found.id
            AND (chunk_set.state <> 'active' OR present_count < chunks_count)),
    told AS (
        SELECT CAST(sum(part_tally.nodes) AS bigint) AS nodes, max(indexed_at) AS indexed_at,
               CAST(sum(chunks) AS bigint) - (
                   SELECT count(*) FROM chunks WHERE set_id IN (
                       SELECT unready.id FROM unready WHERE NOT is_current)) AS chunks
        FROM part_tally WHERE part_id = part)
    SELECT found.state, count(*),
           bool_or(found.state = 'skipped' AND found.last_error ->> 'code' = 'PROJECT_FULL'),
           CAST(0 AS bigint), CAST(0 AS bigint), CAST(NULL AS timestamptz),
           min(found.next_at) FILTER (WHERE found.state = 'queued'),
           (array_agg(found.last_error
                      ORDER BY found.last_error ->> 'at' DESC NULLS LAST, found.id DESC)
            FILTER (WHERE found.last_error IS NOT NULL))[1]
    FROM found GROUP BY found.state
    UNION ALL
    SELECT 'indexed', told.nodes - (SELECT count(*) FROM found), false, told.chunks,
           told.chunks - CAST(COALESCE(
               (SELECT sum(absent) FROM unready WHERE is_current), 0) AS bigint),
           told.indexed_at, NULL, NULL
    FROM told;
END $$;
COMMENT ON FUNCTION counts_of_scope(bigint, bigint, text, text, text) IS
    'What counts_below says. Of a part that is summed it costs what is under way, and the row of indexed strings has the chunks of all.';

-- A page begins where the last one ended and the range of the scope is not asked for beside it: of
-- two lower bounds Postgres would begin at the first.
CREATE FUNCTION strings_after(
    generation bigint, of_table bigint, scope text, last text, pointer text,
    node_id bigint, most bigint
) RETURNS SETOF bigint LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    SELECT node.id FROM node
    WHERE node.generation_id = generation AND node.table_id = of_table
      AND left(node.json_pointer, 200) COLLATE "C" < last
      AND (node.json_pointer = scope OR starts_with(node.json_pointer, scope || '/'))
      AND (left(node.json_pointer, 200) COLLATE "C", node.id) > (pointer COLLATE "C", node_id)
      AND EXISTS (
          SELECT FROM index_generation JOIN search_index ON search_index.id = index_id
          WHERE index_generation.id = generation AND current_setting(
              'context_search.project_id', true) IN ('*', CAST(search_index.project_id AS text)))
    ORDER BY left(node.json_pointer, 200) COLLATE "C", node.id LIMIT most $$;
COMMENT ON FUNCTION strings_after(bigint, bigint, text, text, text, bigint, bigint) IS
    'Strings of a generation in a scope of a table by pointer, behind one of them.';

CREATE FUNCTION unfinished_after(
    generation bigint, of_table bigint, wanted text, scope text, last text,
    pointer text, node_id bigint, most bigint
) RETURNS SETOF bigint LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    SELECT node.id FROM node
    WHERE node.generation_id = generation AND node.table_id = of_table
      AND node.state = wanted AND node.state <> 'indexed'
      AND left(node.json_pointer, 200) COLLATE "C" < last
      AND (node.json_pointer = scope OR starts_with(node.json_pointer, scope || '/'))
      AND (left(node.json_pointer, 200) COLLATE "C", node.id) > (pointer COLLATE "C", node_id)
      AND EXISTS (
          SELECT FROM index_generation JOIN search_index ON search_index.id = index_id
          WHERE index_generation.id = generation AND current_setting(
              'context_search.project_id', true) IN ('*', CAST(search_index.project_id AS text)))
    ORDER BY left(node.json_pointer, 200) COLLATE "C", node.id LIMIT most $$;
COMMENT ON FUNCTION unfinished_after(bigint, bigint, text, text, text, text, bigint, bigint) IS
    'The same, of those in one state that is not indexed.';

CREATE FUNCTION strings_below(
    generation bigint, of_table bigint, scopes text[], firsts text[], lasts text[], most bigint
) RETURNS TABLE (large bigint, problems bigint) LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    SELECT (SELECT count(*) FROM (
                SELECT FROM node
                WHERE node.generation_id = generation AND node.table_id = of_table
                  AND left(node.json_pointer, 200) COLLATE "C" >= place.first
                  AND left(node.json_pointer, 200) COLLATE "C" < place.last
                  AND (node.json_pointer = place.scope
                       OR starts_with(node.json_pointer, place.scope || '/'))
                LIMIT most) AS few),
           (SELECT count(*) FROM (
                SELECT FROM node
                WHERE node.generation_id = generation AND node.table_id = of_table
                  AND node.state IN ('quarantined', 'skipped') AND node.state <> 'indexed'
                  AND left(node.json_pointer, 200) COLLATE "C" >= place.first
                  AND left(node.json_pointer, 200) COLLATE "C" < place.last
                  AND (node.json_pointer = place.scope
                       OR starts_with(node.json_pointer, place.scope || '/'))
                LIMIT most) AS few)
    FROM unnest(scopes, firsts, lasts) WITH ORDINALITY AS place (scope, first, last, number)
    WHERE EXISTS (
        SELECT FROM index_generation JOIN search_index ON search_index.id = index_id
        WHERE index_generation.id = generation AND current_setting(
            'context_search.project_id', true) IN ('*', CAST(search_index.project_id AS text)))
    ORDER BY place.number $$;
COMMENT ON FUNCTION strings_below(bigint, bigint, text[], text[], text[], bigint) IS
    'How many strings of a generation lie at places of a table and below, and how many of them nobody takes up; no further than so many.';

-- Of an index over all tables of a project: from the strings of one table to those of the next.
CREATE FUNCTION strings_of_all_after(
    generation bigint, of_table bigint, pointer text, node_id bigint, most bigint
) RETURNS SETOF bigint LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    SELECT node.id FROM node
    WHERE node.generation_id = generation
      AND (node.table_id, left(node.json_pointer, 200) COLLATE "C", node.id)
          > (of_table, pointer COLLATE "C", node_id)
      AND EXISTS (
          SELECT FROM index_generation JOIN search_index ON search_index.id = index_id
          WHERE index_generation.id = generation AND current_setting(
              'context_search.project_id', true) IN ('*', CAST(search_index.project_id AS text)))
    ORDER BY node.table_id, left(node.json_pointer, 200) COLLATE "C", node.id LIMIT most $$;
COMMENT ON FUNCTION strings_of_all_after(bigint, bigint, text, bigint, bigint) IS
    'Strings of a generation by table and pointer, behind one of them.';

CREATE FUNCTION unfinished_of_all_after(
    generation bigint, wanted text, of_table bigint, pointer text, node_id bigint, most bigint
) RETURNS SETOF bigint LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
    SELECT node.id FROM node
    WHERE node.generation_id = generation
      AND node.state = wanted AND node.state <> 'indexed'
      AND (node.table_id, left(node.json_pointer, 200) COLLATE "C", node.id)
          > (of_table, pointer COLLATE "C", node_id)
      AND EXISTS (
          SELECT FROM index_generation JOIN search_index ON search_index.id = index_id
          WHERE index_generation.id = generation AND current_setting(
              'context_search.project_id', true) IN ('*', CAST(search_index.project_id AS text)))
    ORDER BY node.table_id, left(node.json_pointer, 200) COLLATE "C", node.id LIMIT most $$;
COMMENT ON FUNCTION unfinished_of_all_after(bigint, text, bigint, text, bigint, bigint) IS
    'The same, of those in one state that is not indexed.';
