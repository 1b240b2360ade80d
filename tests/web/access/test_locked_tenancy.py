"""No tenant waits for another: the ids of a stranger's rows that are locked look like missing ones.

Whoever waited for them would learn that they exist, and hold up their owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from context_search.postgres.connection import Connection
from tests.web.access.matrix import PUBLIC, Operation, has_ids, ids_of, swaps
from tests.web.access.stores import TABLES
from tests.web.access.test_tenancy import ask, seen
from tests.web.access.things import MISSING, Tenant

if TYPE_CHECKING:
    from context_search.postgres.url import DatabaseUrl


@pytest.fixture(scope="module")
def locked(victim: Tenant, stranger: Tenant, owner_url: DatabaseUrl) -> Iterator[Tenant]:
    """The stranger, while another session holds every row of the victim and its advisory locks."""
    project_id, table_id = victim.ids["project_id"], victim.ids["table_id"]
    with closing(Connection(owner_url, timeout_s=60.0)) as session:
        tables = session.query(TABLES).rows
        session.query("SET search_path = context_search, public")
        session.query("BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0")
        for name, column in tables:
            if column:
                session.query(f"SELECT FROM {name} WHERE project_id = {project_id} FOR UPDATE")
        session.query(f"SELECT FROM project WHERE id = {project_id} FOR UPDATE")
        for kind, number in (("table", table_id), ("plans", project_id), ("uploads", project_id)):
            session.query(
                f"SELECT pg_advisory_xact_lock(hashtextextended('context_search.{kind}', {number}))"
            )
        yield stranger


@pytest.mark.parametrize("operation", [pair for pair in PUBLIC if has_ids(pair)], ids=" ".join)
def test_what_is_a_strangers_and_locked_looks_like_what_is_missing(
    victim: Tenant, locked: Tenant, operation: Operation
) -> None:
    own = ids_of(operation, locked.ids)
    for swapped in swaps(operation):
        foreign, missing = (
            seen(ask(locked.api, operation, {**own, **{name: ids[name] for name in swapped}}))
            for ids in (ids_of(operation, victim.ids), ids_of(operation, MISSING))
        )
        assert foreign == missing, swapped
