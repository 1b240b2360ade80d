-- A project's comparisons go before its strings: they say which strings are wanted at all.

CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_outbox_next
    ON context_search.outbox (project_id, (body ->> 'kind' <> 'enumerate'), id)
    WHERE sent_at IS NULL;
