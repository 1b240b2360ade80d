-- A key is revoked with its descendants without looking at all keys for each of them.

CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_api_key_made_by
    ON context_search.api_key (made_by) WHERE made_by IS NOT NULL;
