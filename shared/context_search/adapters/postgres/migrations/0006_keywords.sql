-- The tokens of chunks, for keyword search in Postgres. docs/decisions/0014-postgres-keywords.md

-- Beside chunks, not in it: marking a chunk as present would write all of its keys a second time.
CREATE TABLE chunk_words (
    chunk_id bigint PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    set_id bigint NOT NULL,
    generation_id bigint NOT NULL,
    token_count int NOT NULL,              -- with repetitions
    words tsvector NOT NULL                -- each with its index's id before it
);
CREATE INDEX chunk_words_words ON chunk_words USING gin (words);
CREATE INDEX chunk_words_generation ON chunk_words (generation_id);

-- Sets from before this table; cleanup writes their words.
CREATE TABLE words_backlog (
    set_id bigint PRIMARY KEY REFERENCES chunk_set (id) ON DELETE CASCADE
);
INSERT INTO words_backlog (set_id) SELECT id FROM chunk_set;
