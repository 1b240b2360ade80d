-- By itself, because making it reads the whole table: nobody who indexes or searches waits for it.

CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_node_fields
    ON context_search.node USING gin (fields jsonb_path_ops) WHERE fields IS NOT NULL;
