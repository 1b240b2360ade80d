-- Who evicted an index, what an order to compare it came to, and whose turn it is.

ALTER TABLE search_index ADD COLUMN evicted_by text CHECK (evicted_by IN ('limit', 'operator'));
UPDATE search_index SET evicted_by = 'limit' WHERE evicted_at IS NOT NULL;

-- Why the last order to compare failed; NULL once one has succeeded.
ALTER TABLE search_index ADD COLUMN order_error jsonb;

-- When cleanup last took the index to write the summaries of its tools.
ALTER TABLE search_index ADD COLUMN summarised_at timestamptz;

-- What workers did lately, whichever index it belongs to.
CREATE INDEX node_indexed_at ON node (indexed_at) WHERE indexed_at IS NOT NULL;
