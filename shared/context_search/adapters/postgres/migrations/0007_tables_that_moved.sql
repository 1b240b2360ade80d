-- A table whose owner moved it to another project is none of its index any more, as for searches
-- and comparisons already: the index rests until the table comes back.

CREATE OR REPLACE VIEW index_table WITH (security_invoker = true) AS
SELECT search_index.id AS index_id, context_table.id AS table_id, context_table.revision,
    context_table.updated_at
FROM search_index JOIN public.context_table ON context_table.id = search_index.table_id
    AND context_table.project_id = search_index.project_id
WHERE context_table.deleted_at IS NULL AND context_table.context_search_remove_at IS NULL
UNION ALL
SELECT search_index.id, context_table.id, context_table.revision, context_table.updated_at
FROM search_index JOIN public.context_table ON context_table.project_id = search_index.project_id
WHERE search_index.table_id IS NULL
  AND context_table.deleted_at IS NULL AND context_table.context_search_remove_at IS NULL;
COMMENT ON VIEW index_table IS 'The tables of each index that are there, in its own project.';
