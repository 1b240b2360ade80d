-- Cleanup finds keys of the console without looking at all keys.

CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_api_key_console
    ON context_search.api_key (id) WHERE kind = 'console';
