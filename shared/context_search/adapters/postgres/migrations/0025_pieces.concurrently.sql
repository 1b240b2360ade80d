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
