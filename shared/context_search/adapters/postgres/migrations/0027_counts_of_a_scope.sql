-- Counting the strings of a part of an index, for a role that policies bind: as in 0025, with a
-- policy no range of pointers comes from an index, and each string of the table was read.

CREATE FUNCTION context_search.counts_below(
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
                                      AND chunk_set.state IN ('building', 'partial')
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
COMMENT ON FUNCTION context_search.counts_below(bigint, bigint, text, text, text) IS
    'Sums over the strings of a generation in a scope of a table, by state.';
