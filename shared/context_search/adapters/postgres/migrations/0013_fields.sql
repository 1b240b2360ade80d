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
