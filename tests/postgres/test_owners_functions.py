"""Functions that work as their owner: for whoever may read the rows anyway, and for nobody else."""

from __future__ import annotations

import secrets
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from context_search.postgres import migrations
from context_search.postgres.connection import Connection
from context_search.postgres.errors import StatementRejectedError
from tests.postgres.schema.catalogue import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from context_search.postgres.url import DatabaseUrl

_MIGRATION = "0008_rights.sql"
_OURS = "pronamespace = CAST('context_search' AS regnamespace) AND prosecdef"
_READS = "SELECT * FROM context_search.counts_below(1, 1, '', '', '')"
_WRITES = "SELECT context_search.mend_part_tally(1, 1, '', '')"


@pytest.fixture
def role(empty_database_url: DatabaseUrl) -> Iterator[DatabaseUrl]:
    """A role of its own that may log in, and nothing more."""
    name = f"cs_reader_{secrets.token_hex(8)}"
    run(empty_database_url, f"CREATE ROLE {name} LOGIN PASSWORD 'x' NOSUPERUSER NOBYPASSRLS")
    yield replace(empty_database_url, user=name, password="x")
    run(empty_database_url, f"DROP OWNED BY {name}")
    run(empty_database_url, f"DROP ROLE {name}")


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
    owner_url: DatabaseUrl, application_url: DatabaseUrl, role: DatabaseUrl
) -> None:
    assert calls(owner_url)
    assert calls(application_url)
    assert calls(application_url, _WRITES)
    stranger = replace(owner_url, user=role.user, password=role.password)
    run(owner_url, f"GRANT USAGE ON SCHEMA context_search TO {role.user}")
    try:
        assert not calls(stranger)
    finally:
        run(owner_url, f"DROP OWNED BY {role.user}")


def test_a_role_that_was_there_before_goes_on_calling_them(
    empty_database_url: DatabaseUrl, role: DatabaseUrl, tmp_path: Path
) -> None:
    for one in migrations.read(migrations.shipped()):
        if one.name < _MIGRATION:
            (tmp_path / one.name).write_text(one.sql)
    migrations.apply(empty_database_url, tmp_path)
    run(empty_database_url, f"GRANT USAGE ON SCHEMA context_search TO {role.user}")
    run(empty_database_url, f"GRANT SELECT ON ALL TABLES IN SCHEMA context_search TO {role.user}")
    assert calls(role)
    migrations.apply(empty_database_url)
    assert calls(role)
    assert not calls(role, _WRITES)
