-- Words of full indexes are written later: a note says of which set, and in which generation.

ALTER TABLE words_backlog ADD COLUMN generation_id bigint;
COMMENT ON TABLE words_backlog IS
    'An active chunk set with chunks whose words are not written yet, or were deleted by hand; cleanup writes them.';
COMMENT ON COLUMN words_backlog.generation_id IS 'Of its node.';

-- For who does not know the column.
CREATE FUNCTION note_generation() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    NEW.generation_id := (
        SELECT generation_id FROM node JOIN chunk_set ON node.id = node_id
        WHERE chunk_set.id = NEW.set_id);
    RETURN NEW;
END $$;
CREATE TRIGGER note_generation BEFORE INSERT ON words_backlog
    FOR EACH ROW WHEN (NEW.generation_id IS NULL) EXECUTE FUNCTION note_generation();

COMMENT ON COLUMN chunks.present IS
    'false: turbopuffer has not acknowledged it, or has lost it. true, in a partial set: it has, if chunk_index is less than present_count of the set; in any other set: it has.';
COMMENT ON COLUMN chunk_set.state IS
    'partial: on the way to be active, and some of its chunks may still be in the active set; the swap moves them. building: the same, without such chunks, as 0.1.0 writes it.';
COMMENT ON COLUMN chunk_set.present_count IS
    'Chunks that turbopuffer has acknowledged; in a partial set, where it has come: the chunk_index behind the last one.';
