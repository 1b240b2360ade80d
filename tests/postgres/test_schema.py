"""Properties of the shipped schema that no single statement shows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from context_search.postgres import migrations
from context_search.postgres.connection import Connection
from context_search.postgres.errors import StatementRejectedError
from context_search.postgres.pool import Database, may_write
from context_search.postgres.url import DatabaseUrl
from tests.postgres.schema.catalogue import role, run

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


def test_deleting_a_row_never_reads_a_whole_table_for_what_refers_to_it(database: Database) -> None:
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


_MIGRATION = "0008_rights.sql"
_OURS = "pronamespace = CAST('context_search' AS regnamespace) AND prosecdef"
_READS = "SELECT * FROM context_search.counts_below(1, 1, '', '', '')"
_WRITES = "SELECT context_search.mend_part_tally(1, 1, '', '')"


def calls(url: DatabaseUrl, call: str = _READS) -> bool:
    """Whether a role may call one of them, and is not refused the right to."""
    with closing(Connection(url)) as connection:
        try:
            connection.query(call)
        except StatementRejectedError as refused:
            return refused.sqlstate != "42501"
        return True


def test_nothing_that_works_as_its_owner_is_for_everybody(owner_url: DatabaseUrl) -> None:
    rows = run(
        owner_url,
        "SELECT proname, proacl IS NULL"
        " OR EXISTS (SELECT FROM aclexplode(proacl) AS entry WHERE entry.grantee = 0)"
        f" FROM pg_proc WHERE {_OURS}",
    )
    assert {"counts_below", "strings_after", "data_changed"} <= {name for name, _ in rows}
    assert [name for name, is_open in rows if is_open] == []


def test_the_owner_and_the_role_of_the_page_may_call_them_and_a_stranger_may_not(
    owner_url: DatabaseUrl, application_url: DatabaseUrl
) -> None:
    assert calls(owner_url)
    assert calls(application_url)
    assert calls(application_url, _WRITES)
    with role(owner_url) as stranger:
        run(owner_url, f"GRANT USAGE ON SCHEMA context_search TO {stranger.user}")
        assert not calls(stranger)


def test_a_role_that_was_there_before_goes_on_calling_them(
    empty_database_url: DatabaseUrl, tmp_path: Path
) -> None:
    url = empty_database_url
    for one in migrations.read(migrations.shipped()):
        if one.name < _MIGRATION:
            (tmp_path / one.name).write_text(one.sql)
    migrations.apply(url, tmp_path)
    with role(url) as reader:
        run(url, f"GRANT USAGE ON SCHEMA context_search TO {reader.user}")
        run(url, f"GRANT SELECT ON ALL TABLES IN SCHEMA context_search TO {reader.user}")
        assert calls(reader)
        migrations.apply(url)
        assert calls(reader)
        assert not calls(reader, _WRITES)


FUNCTIONS = """
    SELECT proname FROM pg_proc
    WHERE pronamespace = 'context_search'::regnamespace AND provolatile = 'v'
      AND prorettype <> 'trigger'::regtype
"""


@pytest.mark.parametrize(
    ("sql", "writes"),
    [
        ("SELECT n FROM counter", False),
        ("SELECT updated_at, deleted_at FROM node FOR UPDATE SKIP LOCKED", False),
        ("SELECT n FROM counter FOR NO KEY UPDATE", False),
        ("WITH gone AS (DELETE FROM node RETURNING id) SELECT id FROM gone", True),
        ("INSERT INTO node VALUES (1)", True),
        ("\n  UPDATE node SET state = 'queued'", True),
        ("SELECT note_indexed(:nodes)", True),
    ],
)
def test_a_statement_that_writes_is_known(sql: str, *, writes: bool) -> None:
    assert may_write(sql) is writes


def test_a_function_that_writes_is_known_by_its_name(module_database: Database) -> None:
    """Postgres lets only functions write that are VOLATILE, as each is that says nothing."""
    with module_database.transaction() as tx:
        names = [name for [name] in tx.run(FUNCTIONS)]
    assert [name for name in names if not may_write(f"SELECT {name}(1)")] == []
    assert "note_indexed" in names
