-- Lists and outlines in pages cost their page. Each by itself: nobody who indexes waits for it.
-- The new indexes on node begin as the two that they replace, or serve the same statements.

CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_table_page
    ON public.context_table (project_id, id)
    WHERE deleted_at IS NULL AND context_search_remove_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_node_place
    ON context_search.node (generation_id, table_id, (left(json_pointer, 200)) COLLATE "C", id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_node_unfinished
    ON context_search.node (
        generation_id, state, table_id, (left(json_pointer, 200)) COLLATE "C", id)
    WHERE state <> 'indexed';
DROP INDEX CONCURRENTLY IF EXISTS context_search.context_search_node_pointer;
DROP INDEX CONCURRENTLY IF EXISTS context_search.node_not_indexed;

-- As the owner, who is bound by no policy: with one, Postgres takes no range of pointers from an
-- index, because left() may tell what it sees. Whose generation it is is tested once. A page begins
-- where the last one ended and the range of the scope is not asked for beside it: of two lower bounds
-- Postgres would begin at the first.
CREATE FUNCTION context_search.strings_after(
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
COMMENT ON FUNCTION context_search.strings_after(
    bigint, bigint, text, text, text, bigint, bigint) IS
    'Strings of a generation in a scope of a table by pointer, behind one of them.';
CREATE FUNCTION context_search.unfinished_after(
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
COMMENT ON FUNCTION context_search.unfinished_after(
    bigint, bigint, text, text, text, text, bigint, bigint) IS
    'The same, of those in one state that is not indexed.';
CREATE FUNCTION context_search.strings_below(
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
COMMENT ON FUNCTION context_search.strings_below(
    bigint, bigint, text[], text[], text[], bigint) IS
    'How many strings of a generation lie at places of a table and below, and how many of them nobody takes up; no further than so many.';
