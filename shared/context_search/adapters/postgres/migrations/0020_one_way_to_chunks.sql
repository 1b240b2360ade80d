-- Chunks go with their nodes. A second way from the table to them made a worker, which holds its
-- node, wait for whoever deletes the table by SQL, who waits for the node: a deadlock.
ALTER TABLE chunks DROP CONSTRAINT chunks_table_id_fkey;
