-- Filters on the fields of documents: which fields an index keeps, and those of each string.
-- NULL in each of these columns is what code that does not know them leaves.

ALTER TABLE search_index ADD COLUMN filterable text[];
COMMENT ON COLUMN search_index.filterable IS
    'Names of the fields that are kept with its strings, to filter by. NULL: none.';

ALTER TABLE comparison ADD COLUMN fields text[];
ALTER TABLE comparison ADD COLUMN fields_revision bigint;
COMMENT ON COLUMN comparison.fields IS 'Names of the fields that its nodes have.';
COMMENT ON COLUMN comparison.fields_revision IS
    'Of the table, when the fields were noted. Where revision is another one, a release that knows no fields has compared since: they are not to be trusted.';

ALTER TABLE node ADD COLUMN fields jsonb;
COMMENT ON COLUMN node.fields IS
    'Values by name: a string, a number, a boolean, or an array of them. NULL: not noted.';

-- As the owner, who is bound by no policy: with one, Postgres tests it on each row first, and the
-- index on fields is of no use. Whose generation it is is tested once.
CREATE FUNCTION strings_let_through(
    generation bigint, wanted jsonpath, scope text, tables bigint[], most bigint
) RETURNS SETOF text LANGUAGE plpgsql STABLE
    SECURITY DEFINER SET search_path = context_search, pg_temp AS $$
BEGIN
    -- Text of its own for each filter: what it asks for decides whether the index helps.
    RETURN QUERY EXECUTE format(
        $statement$
        SELECT json_pointer FROM node
        WHERE generation_id = $1 AND active_set_id IS NOT NULL AND fields @@ %L
          AND ($2 = '' OR json_pointer = $2 OR starts_with(json_pointer, $2 || '/'))
          AND ($3 IS NULL OR table_id = ANY($3))
          AND EXISTS (
              SELECT FROM index_generation
              JOIN search_index ON search_index.id = index_generation.index_id
              WHERE index_generation.id = $1 AND current_setting('context_search.project_id', true)
                  IN ('*', CAST(search_index.project_id AS text)))
        LIMIT $4
        $statement$, wanted)
    USING generation, scope, tables, most;
END $$;
COMMENT ON FUNCTION strings_let_through(bigint, jsonpath, text, bigint[], bigint) IS
    'Pointers of searchable strings of a generation whose fields a path is true for.';
