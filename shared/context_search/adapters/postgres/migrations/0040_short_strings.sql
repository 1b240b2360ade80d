-- How many strings of each scope are too short for the index. A comparison counts them, so that a
-- search reads one number. A release that does not count them leaves the revision behind.

ALTER TABLE comparison
    ADD COLUMN short_strings jsonb,
    ADD COLUMN short_revision bigint;
COMMENT ON COLUMN comparison.short_strings IS
    'By scope: how many strings are not blank and shorter than the threshold of the index.';
COMMENT ON COLUMN comparison.short_revision IS
    'The revision of the table that short_strings is of; NULL: nobody has counted.';

ALTER TABLE compared_section ADD COLUMN short_strings int[];
-- A comparison reads both of every section, and the keys of few: only these may lie elsewhere.
ALTER TABLE compared_section
    ALTER COLUMN digest SET STORAGE MAIN,
    ALTER COLUMN short_strings SET STORAGE MAIN;
COMMENT ON COLUMN compared_section.short_strings IS
    'The same of a section, in the order of comparison.scopes; NULL: nobody has counted.';
