-- A database of a commit before 0.1.0 has everything in public. Its tables move with their rows,
-- indexes and keys; functions and policies are made anew and views replaced by the files that follow
-- in the same transaction. Every statement changes the catalogue only: nobody waits for longer than a moment.

DO $$
DECLARE
    ours CONSTANT text[] := ARRAY[
        'api_key', 'chunk_set', 'chunk_tally', 'chunk_words', 'chunks', 'comparison', 'coverage',
        'idempotency_key', 'index_generation', 'mcp', 'mcp_binding', 'node', 'outbox', 'permit',
        'ranking', 'retrieval_settings', 'search_index', 'tombstone', 'upload', 'words_backlog'];
    name text;
    index_name text;
    its_table text;
    definition text;
BEGIN
    DROP FUNCTION public.context_search_bury_chunks, public.context_search_chunks_gone,
        public.context_search_data_changed, public.context_search_new_revision,
        public.context_search_nodes_gone, public.context_search_tally_chunks,
        public.context_search_words_gone CASCADE;  -- with their triggers, which are ours
    FOREACH name IN ARRAY ours LOOP
        EXECUTE format('DROP POLICY IF EXISTS context_search_project ON public.%I', name);
        EXECUTE format('ALTER TABLE public.%I SET SCHEMA context_search', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['generation_usage', 'index_table', 'needed_scope'] LOOP
        EXECUTE format('ALTER VIEW public.%I SET SCHEMA context_search', name);  -- replaced later
    END LOOP;
    DROP TABLE public.context_search_migration;

    -- The functions' role keeps its rights to the tables, and needs the new way to them.
    FOR name IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE CAST(CAST(grantee AS regrole) AS text) END
        FROM pg_class, aclexplode(relacl)
        WHERE relnamespace = CAST('context_search' AS regnamespace) AND grantee <> relowner
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA context_search TO %s', name);
    END LOOP;

    -- Indexes on shared tables get names that are ours; an owner's index of such a name stays.
    FOR index_name, its_table, name, definition IN VALUES
        ('context_table_project', 'context_table', 'context_search_table_project', '(project_id)'),
        ('tool_project', 'tool', 'context_search_tool_project', '(project_id, id) WHERE (deleted_at IS NULL)'),
        ('tool_table', 'tool', 'context_search_tool_table', '(table_id)'),
        ('context_table_deleted', 'context_table', NULL, '(deleted_at) WHERE (deleted_at IS NOT NULL)')
    LOOP
        CONTINUE WHEN pg_get_indexdef(to_regclass('public.' || index_name)) IS DISTINCT FROM format(
            'CREATE INDEX %s ON public.%s USING btree %s', index_name, its_table, definition);
        IF name IS NULL THEN  -- nothing reads it
            EXECUTE format('DROP INDEX public.%I', index_name);
        ELSE
            EXECUTE format('ALTER INDEX public.%I RENAME TO %I', index_name, name);
        END IF;
    END LOOP;
END $$;
