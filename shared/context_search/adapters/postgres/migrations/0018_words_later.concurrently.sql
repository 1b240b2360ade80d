-- Each by itself: nobody who indexes waits for it.

UPDATE context_search.words_backlog SET generation_id = node.generation_id
    FROM context_search.chunk_set JOIN context_search.node ON node.id = chunk_set.node_id
    WHERE chunk_set.id = words_backlog.set_id AND words_backlog.generation_id IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_words_backlog_generation
    ON context_search.words_backlog (generation_id, set_id);
