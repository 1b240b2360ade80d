-- Documents on their way into a table through S3. A row lives for a day, as its object does, and
-- outlives its table, so that no object is ever forgotten.
CREATE TABLE upload (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id bigint NOT NULL REFERENCES project (id) ON DELETE CASCADE,
    table_id bigint REFERENCES context_table (id) ON DELETE SET NULL,
    format text NOT NULL CHECK (format IN ('json', 'jsonl')),
    state text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'importing', 'done', 'failed')),
    size bigint,                            -- as the caller says, bytes
    sha256 text,                            -- the same
    if_revision bigint,
    bytes bigint,                           -- of the object
    revision bigint,                        -- of the table, after the import
    runs int NOT NULL DEFAULT 0,            -- begun, and not ended so far
    last_error jsonb,
    created_at timestamptz NOT NULL DEFAULT now(),
    saved_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX upload_project ON upload (project_id);
CREATE INDEX upload_table ON upload (table_id);
CREATE INDEX upload_created ON upload (created_at);
CREATE INDEX upload_importing ON upload (saved_at) WHERE state = 'importing';
