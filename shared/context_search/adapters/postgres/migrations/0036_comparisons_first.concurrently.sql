-- A project's comparisons leave before its strings, however many of these wait.

CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_outbox_comparisons_first
    ON context_search.outbox (project_id, id)
    WHERE sent_at IS NULL AND body ->> 'kind' = 'enumerate';
