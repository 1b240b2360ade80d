-- Whether the index of a project is behind is found without looking at each of its tables.

CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_outbox_comparison
    ON context_search.outbox ((body ->> 'index_id')) WHERE body ->> 'kind' = 'enumerate';
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_comparison_gap
    ON context_search.comparison (generation_id) WHERE revision IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_comparison_refused
    ON context_search.comparison (generation_id) WHERE refused IS NOT NULL;
