-- Who deletes rows of chunk_words by hand makes keyword search in Postgres blind for their chunks.
-- Their sets are noted here, and cleanup writes their words again.

-- What was deleted before. It reads all chunks: first, so that no lock is held meanwhile.
INSERT INTO words_backlog (set_id)
SELECT DISTINCT set_id FROM chunks
WHERE present AND NOT EXISTS (SELECT FROM chunk_words WHERE chunk_id = chunks.id)
ON CONFLICT DO NOTHING;

CREATE FUNCTION context_search_words_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO words_backlog (set_id)
    SELECT id FROM chunk_set WHERE TG_OP = 'TRUNCATE' OR id = OLD.set_id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
-- Words that go with their chunk, by the foreign key, go inside of another trigger.
CREATE TRIGGER context_search_words_gone AFTER DELETE ON chunk_words
    FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION context_search_words_gone();
CREATE TRIGGER context_search_words_truncated AFTER TRUNCATE ON chunk_words
    FOR EACH STATEMENT EXECUTE FUNCTION context_search_words_gone();

DO $$
BEGIN
    EXECUTE format(
        'ALTER FUNCTION context_search_words_gone() SECURITY DEFINER SET search_path = %I, pg_temp',
        current_schema());
END $$;
