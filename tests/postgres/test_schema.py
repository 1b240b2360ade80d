"""Properties of the shipped schema that no single statement shows."""

from __future__ import annotations

from context_search.postgres.pool import Database

# A foreign key of a project needs none: projects are not deleted.
_WITHOUT_INDEX = """
SELECT conrelid::regclass::text || '.' || attname
FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
WHERE contype = 'f' AND confrelid <> 'project'::regclass AND NOT EXISTS (
    SELECT FROM pg_index
    WHERE indrelid = conrelid AND indkey[0] = conkey[1] AND indpred IS NULL)
ORDER BY 1
"""
_DOC_ID_COLLATION = """
SELECT collname FROM pg_attribute JOIN pg_collation ON pg_collation.oid = attcollation
WHERE attrelid = 'chunks'::regclass AND attname = 'turbopuffer_doc_id'
"""


def test_deleting_a_row_never_reads_a_whole_table_for_what_refers_to_it(
    database: Database,
) -> None:
    with database.transaction() as tx:
        assert tx.run(_WITHOUT_INDEX) == []


def test_the_index_of_document_ids_has_the_order_that_sweeps_read_them_in(
    database: Database,
) -> None:
    with database.transaction() as tx:
        assert tx.run(_DOC_ID_COLLATION) == [["C"]]


def test_every_table_and_view_says_what_a_row_is(database: Database) -> None:
    with database.transaction() as tx:
        silent = tx.run(
            """
            SELECT relname FROM pg_class
            WHERE relnamespace IN (CAST('public' AS regnamespace),
                                   CAST('context_search' AS regnamespace))
              AND relkind IN ('r', 'v') AND obj_description(oid, 'pg_class') IS NULL
            """
        )
    assert silent == []


def test_every_function_has_a_fixed_search_path(database: Database) -> None:
    with database.transaction() as tx:
        found = tx.run(
            """
            SELECT proname, proconfig[1] FROM pg_proc
            WHERE pronamespace IN (CAST('public' AS regnamespace),
                                   CAST('context_search' AS regnamespace))
              AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'plpgsql')
            """
        )
    assert found
    assert {path for _, path in found} == {"search_path=context_search, pg_temp"}
