-- Each by itself, because it reads whole tables: nobody who indexes or searches waits for it.

SELECT context_search.mend_node_tally(id) FROM context_search.index_generation;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_node_pointer
    ON context_search.node (generation_id, (left(json_pointer, 200)) COLLATE "C");
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_node_queued
    ON context_search.node (generation_id, next_at) WHERE state = 'queued';
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_node_error
    ON context_search.node (generation_id, (last_error ->> 'at') DESC NULLS LAST, id DESC)
    WHERE last_error IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_chunk_set_unready
    ON context_search.chunk_set (node_id) WHERE state <> 'active' OR present_count < chunks_count;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_tombstone_new
    ON context_search.tombstone (created_at) WHERE deleted_at IS NULL;
