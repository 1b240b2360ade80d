-- A chunk whose vector rows would not change stays when its string changes: it moves to the next set.

ALTER TABLE chunks ADD COLUMN rows_hash bytea;
COMMENT ON COLUMN chunks.rows_hash IS
    'Of all that its rows in turbopuffer hold of the text: what was embedded, and the lines above it. NULL: of a release that kept no chunks.';

-- A state of its own: a release before would take a set with some of its chunks for a whole one.
ALTER TABLE chunk_set DROP CONSTRAINT chunk_set_state_check;
ALTER TABLE chunk_set ADD CONSTRAINT chunk_set_state_check
    CHECK (state IN ('building', 'partial', 'active', 'quarantined')) NOT VALID;
ALTER TABLE chunk_set VALIDATE CONSTRAINT chunk_set_state_check;
CREATE UNIQUE INDEX chunk_set_partial ON chunk_set (node_id) WHERE state = 'partial';
COMMENT ON COLUMN chunk_set.state IS
    'building: on the way to be active. partial: too, and it takes over chunks of the active set.';
