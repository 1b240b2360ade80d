-- The outbox becomes an order book: an order stays in it until it is done, equal orders that nobody
-- has begun are one, and a project has only some of them in the queue at a time.
-- docs/decisions/0023-fair-shares.md

ALTER TABLE outbox
    ADD COLUMN project_id bigint NOT NULL DEFAULT 0,  -- whose share it takes; 0: nobody knows
    ADD COLUMN key text,                -- equal for orders of which one is enough; NULL: unknown kind
    ADD COLUMN claimed_at timestamptz,  -- when it was to be sent first
    ADD COLUMN sent_at timestamptz,     -- the queue took it
    ADD COLUMN begun_at timestamptz,    -- a worker has it: what is written from now on is a new order
    ADD COLUMN due_at timestamptz;      -- it rests until then

UPDATE outbox SET project_id = COALESCE(CASE body ->> 'kind'
    WHEN 'enumerate' THEN (
        SELECT project_id FROM search_index WHERE id = CAST(body ->> 'index_id' AS bigint))
    WHEN 'import' THEN (
        SELECT project_id FROM upload WHERE id = CAST(body ->> 'upload_id' AS bigint))
    ELSE (
        SELECT project_id FROM node JOIN context_table ON context_table.id = table_id
        WHERE node.id = CAST(COALESCE(body ->> 'node_id', body -> 'node_ids' ->> 0) AS bigint))
    END, 0);

CREATE UNIQUE INDEX outbox_open ON outbox (key) WHERE begun_at IS NULL;
CREATE INDEX outbox_key ON outbox (key);
CREATE INDEX outbox_waiting ON outbox (project_id, id) WHERE sent_at IS NULL;
CREATE INDEX outbox_claimed ON outbox (project_id)
    WHERE sent_at IS NULL AND claimed_until IS NOT NULL;
CREATE INDEX outbox_sent ON outbox (project_id) WHERE sent_at IS NOT NULL;

-- DO UPDATE, though it changes nothing: it locks the order that is there until this transaction
-- ends. So no worker begins that order, reads the document as it was before, and calls it done.
CREATE OR REPLACE FUNCTION context_search_data_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Whoever switches project search on locks the project first: either it sees this table then,
    -- or this waits here and sees its index.
    IF TG_OP = 'INSERT' THEN
        PERFORM FROM project WHERE id = NEW.project_id FOR KEY SHARE;
    END IF;
    INSERT INTO outbox (body, project_id, key)
    SELECT jsonb_build_object('kind', 'enumerate', 'index_id', id, 'table_id', NEW.id),
           project_id, format('enumerate:%s:%s', id, NEW.id)
    FROM search_index
    WHERE table_id = NEW.id OR table_id IS NULL AND project_id = NEW.project_id ORDER BY id
    ON CONFLICT (key) WHERE begun_at IS NULL DO UPDATE SET key = excluded.key;
    RETURN NULL;
END $$;

-- What was written to a table in its owner's trash was compared with nothing.
CREATE TRIGGER context_search_table_restored AFTER UPDATE OF deleted_at ON context_table
    FOR EACH ROW WHEN (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL)
    EXECUTE FUNCTION context_search_data_changed();

DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION context_search_data_changed() SECURITY DEFINER SET search_path = %I, pg_temp',
        current_schema());
END $$;
