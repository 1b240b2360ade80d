-- A comparison after an edit reads the sections of a document that changed, and no others.
-- A release that does not know them changes revision or scopes, and the digest is that of others.

ALTER TABLE comparison ADD COLUMN sections bytea;
COMMENT ON COLUMN comparison.sections IS
    'Digest of revision, scopes and the rows of compared_section. Where it is another one, or NULL, these are not to be trusted.';

CREATE TABLE compared_section (
    generation_id bigint NOT NULL,
    table_id bigint NOT NULL,
    digest bytea NOT NULL,
    keys bytea NOT NULL,
    pointer_chars bigint NOT NULL,
    PRIMARY KEY (generation_id, table_id, digest),
    FOREIGN KEY (generation_id, table_id)
        REFERENCES comparison (generation_id, table_id) ON DELETE CASCADE
) WITH (toast_tuple_target = 128);
ALTER TABLE compared_section ALTER COLUMN keys SET STORAGE EXTERNAL;
COMMENT ON TABLE compared_section IS
    'A section of a large document, as a generation was last compared with it.';
COMMENT ON COLUMN compared_section.digest IS 'sha256 of its place and its text.';
COMMENT ON COLUMN compared_section.keys IS
    'The nodes that the generation has of it: the first 16 bytes of each pointer_sha256.';
COMMENT ON COLUMN compared_section.pointer_chars IS
    'Length of their pointers, one for each chunk.';
