"""Migrations since the last release leave true what its code goes on reading and writing."""

from __future__ import annotations

import re

import pytest

from context_search.postgres import migrations
from tests.upgrade.schema import EXCEPTIONS, LAST_MIGRATIONS, refusal, refusals, since, statements
from tests.upgrade.versions import RELEASED

SHIPPED = {one.name: one.sql for one in migrations.read(migrations.shipped())}
LATEST = next(reversed(LAST_MIGRATIONS.values()), None)


def test_code_of_the_last_release_does_not_notice_later_migrations() -> None:
    assert refusals(since(LATEST, SHIPPED), EXCEPTIONS) == []


def test_migrations_since_a_release_are_those_after_its_last_one() -> None:
    assert list(since("0007_maintenance.sql", SHIPPED)) == [n for n in SHIPPED if n >= "0008"] != []
    assert since(None, SHIPPED) == {}


def test_the_last_migration_of_each_release_is_there() -> None:
    assert set(LAST_MIGRATIONS.values()) <= SHIPPED.keys()
    assert list(LAST_MIGRATIONS.values()) == sorted(LAST_MIGRATIONS.values())


def test_the_commit_of_each_release_but_the_one_being_cut_is_recorded() -> None:
    releases = list(LAST_MIGRATIONS)
    assert list(RELEASED) in (releases, releases[:-1])
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in RELEASED.values())


def test_an_exception_has_a_reason_and_a_statement() -> None:
    assert all(EXCEPTIONS.values())
    assert {name for name, _ in EXCEPTIONS} <= since(LATEST, SHIPPED).keys()


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE node RENAME COLUMN content TO body",
        "ALTER TABLE node RENAME TO string",
        "ALTER TABLE node DROP COLUMN content",
        "ALTER TABLE ONLY node ALTER COLUMN content SET NOT NULL",
        "ALTER TABLE node ALTER content TYPE bytea",
        "ALTER TABLE node ADD COLUMN kind text NOT NULL",
        "ALTER TABLE node ADD kind text NOT NULL, ADD more int",
        "ALTER TABLE node ADD more int, DROP COLUMN content",
        "ALTER TABLE node ADD COLUMN slot int UNIQUE",
        "ALTER TABLE context_search.node ADD CONSTRAINT short CHECK (char_count < 9)",
        "ALTER TABLE node ADD CHECK (char_count < 9)",
        "ALTER TABLE node ADD FOREIGN KEY (table_id) REFERENCES project (id)",
        "CREATE UNIQUE INDEX one ON node (json_pointer)",
        "CREATE TRIGGER t BEFORE INSERT ON node FOR EACH ROW EXECUTE FUNCTION f()",
        "CREATE POLICY p ON outbox USING (true)",
        "ALTER TABLE outbox ENABLE ROW LEVEL SECURITY",
        "DROP TABLE node",
        "DROP INDEX node_table",
        "UPDATE node SET state = ''",
        "DELETE FROM tombstone",
        "TRUNCATE permit",
        "DO ''",
        "ALTER TYPE x ADD VALUE ''",
    ],
)
def test_what_the_last_release_would_notice_is_refused(statement: str) -> None:
    assert refusal(statement, {"fresh"}) is not None


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE node ADD COLUMN kind text",
        "ALTER TABLE node ADD IF NOT EXISTS kind text NOT NULL DEFAULT ''",
        "ALTER TABLE node ADD kind text CHECK (kind IN ('', '')), ADD COLUMN n int DEFAULT 0",
        "ALTER TABLE public.tool ADD price numeric(10, 2)",
        "CREATE INDEX i ON node (kind)",
        "CREATE TABLE fresh (id bigint PRIMARY KEY, n int NOT NULL UNIQUE)",
        "CREATE UNIQUE INDEX one ON context_search.fresh (n)",
        "CREATE POLICY p ON fresh USING (true)",
        "ALTER TABLE fresh ENABLE ROW LEVEL SECURITY",
        "CREATE OR REPLACE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS ''",
        "COMMENT ON COLUMN node.kind IS ''",
    ],
)
def test_what_it_cannot_notice_is_not(statement: str) -> None:
    assert refusal(statement, {"fresh"}) is None


def test_a_file_is_read_statement_by_statement() -> None:
    sql = """
        -- a comment; with a semicolon, and 'a quote
        CREATE FUNCTION f() RETURNS trigger AS $$ BEGIN DROP TABLE x; END $$;
        COMMENT ON TABLE x IS 'a; b -- c''s';  /* DROP TABLE y; */
        ALTER TABLE x
            ADD n int;
    """
    assert list(statements(sql)) == [
        "CREATE FUNCTION f() RETURNS trigger AS ''",
        "COMMENT ON TABLE x IS ''",
        "ALTER TABLE x ADD n int",
    ]


def test_a_table_is_new_for_the_files_after_it_too() -> None:
    files = {"0098_a.sql": "CREATE TABLE fresh (n int);", "0099_b.sql": "ALTER TABLE fresh DROP n;"}
    assert refusals(files, {}) == []
    [reported] = refusals({"0099_b.sql": files["0099_b.sql"]}, {})
    assert reported.startswith("0099_b.sql: changes what")


def test_an_exception_is_for_one_statement_that_needs_it() -> None:
    needs = {"0099_b.sql": "ALTER TABLE node DROP n;"}
    excused = {("0099_b.sql", "ALTER TABLE node DROP"): "nobody reads it"}
    assert refusals(needs, excused) == []
    [reported] = refusals({"0099_b.sql": "ALTER TABLE node ADD n int;"}, excused)
    assert reported.startswith("no exception is needed")
