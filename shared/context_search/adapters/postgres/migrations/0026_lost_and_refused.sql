-- What ends again and again without being done waits longer each time, and every table of an index
-- keeps the reason why its document cannot be indexed.

-- How often the message of an order was taken for lost. docs/decisions/0023-fair-shares.md
ALTER TABLE outbox ADD COLUMN times_lost integer NOT NULL DEFAULT 0;

-- Why the document of this table cannot be indexed as it is; NULL: it can, or nobody tried.
ALTER TABLE comparison ADD COLUMN refused jsonb;
-- So far an index had one place for all of its tables, and for failures that pass.
UPDATE comparison SET refused = order_error || jsonb_build_object('table_id', comparison.table_id)
FROM search_index JOIN index_generation AS generation ON generation.index_id = search_index.id
WHERE order_error ->> 'retryable' = 'false' AND comparison.generation_id = generation.id
  AND generation.state IN ('active', 'building')
  AND comparison.table_id
      = COALESCE(CAST(order_error ->> 'table_id' AS bigint), search_index.table_id);
UPDATE search_index SET order_error = NULL WHERE order_error ->> 'retryable' = 'false';
