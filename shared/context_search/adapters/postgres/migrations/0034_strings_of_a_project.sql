-- The strings of an index over all tables of a project, a page at a time. The indexes on node of 0025
-- go on from the strings of one table to those of the next, so there is no new one. As the owner, as
-- in 0025: with a policy, Postgres takes no range of pointers from an index.

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

-- They are for whoever may read these rows anyway, as in 0030.
DO $$
DECLARE
    works_as_owner regprocedure;
    reader regrole;
BEGIN
    FOREACH works_as_owner IN ARRAY CAST(ARRAY[
        'strings_of_all_after(bigint, bigint, text, bigint, bigint)',
        'unfinished_of_all_after(bigint, text, bigint, text, bigint, bigint)'] AS regprocedure[])
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', works_as_owner);
        FOR reader IN
            SELECT DISTINCT entry.grantee FROM pg_class, aclexplode(relacl) AS entry
            WHERE pg_class.oid = CAST('context_search.node' AS regclass)
              AND entry.privilege_type = 'SELECT' AND entry.grantee <> 0
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', works_as_owner, reader);
        END LOOP;
    END LOOP;
END $$;
