-- Indexes on tables that may be another program's and have rows: nobody who writes waits for them.
-- Each statement runs by itself, outside of a transaction.

CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_table_project
    ON public.context_table (project_id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_table_removal
    ON public.context_table (context_search_remove_at) WHERE context_search_remove_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_tool_project
    ON public.tool (project_id, id) WHERE deleted_at IS NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_tool_table ON public.tool (table_id);
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_tool_removal
    ON public.tool (context_search_remove_at) WHERE context_search_remove_at IS NOT NULL;
CREATE INDEX CONCURRENTLY IF NOT EXISTS context_search_table_page
    ON public.context_table (project_id, id)
    WHERE deleted_at IS NULL AND context_search_remove_at IS NULL;
