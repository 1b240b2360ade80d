"""A key that is revoked, while others are made with it, and with the longest line behind it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from context_search.core.callers import ApiKey, KeyOwner, NewApiKey
from context_search.core.errors import UnauthenticatedError
from context_search.postgres.pool import Database
from context_search.store import PostgresStore, UnitOfWork
from testing.postgres_cost import measured
from tests.builders import Workbench, waits
from tests.stack import DatabaseFactory, eventually

ACTOR = "token:0123456789abcdef"
_LINE, _OTHERS = 200, 20_000
_MADE = """
    INSERT INTO api_key (id, project_id, prefix, key_hash, permissions, created_at, made_by)
        OVERRIDING SYSTEM VALUE
    SELECT number, :project, 'cs_', sha256(CAST(CAST(number AS text) AS bytea)), '{search}', now(),
           CASE WHEN number BETWEEN 2 AND :line THEN number - 1 END
    FROM generate_series(1, :every) AS number
"""


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def add(work: UnitOfWork, bench: Workbench, made_by: ApiKey | None = None) -> ApiKey:
    owner, name = KeyOwner(bench.project.id), f"{bench.project.id}-{made_by and made_by.id}"
    maker = made_by.id if made_by else None
    actor = None if made_by else ACTOR
    new = NewApiKey(None, "cs_", name.encode(), made_by=maker, actor=actor)
    return work.keys.add(owner, new)


def revoke(bench: Workbench, key_id: int) -> None:
    bench.work.keys.revoke(key_id)


def revoke_actor(bench: Workbench, _: int) -> None:
    with bench.store.for_project(bench.project.id) as work:
        assert work.keys.revoke_actor(bench.project.id, ACTOR) == 3


def revoked_keys(bench: Workbench) -> list[int]:
    keys = bench.work.keys.page(KeyOwner(bench.project.id), after=0, limit=9)
    return [key.id for key in keys if key.revoked_at]


@pytest.mark.parametrize("way", [revoke, revoke_actor])
def test_a_key_that_a_descendant_makes_meanwhile_is_revoked_too(
    bench: Workbench, way: Callable[[Workbench, int], None]
) -> None:
    with bench.store.for_all("test") as work:
        first = add(work, bench)
        child = add(work, bench, first)

    with ThreadPoolExecutor(2) as threads:
        with bench.store.for_all("test") as work:
            grandchild = add(work, bench, child)
            revoked = threads.submit(way, bench, first.id)
            waiting = threads.submit(eventually, lambda: waits(bench, "UPDATE api_key SET rev"))
            assert waiting.result()
        revoked.result()
    assert revoked_keys(bench) == [first.id, child.id, grandchild.id]


def test_who_makes_a_key_waits_for_who_revokes_the_maker_and_makes_none(bench: Workbench) -> None:
    with bench.store.for_all("test") as work:
        first = add(work, bench)

    def make() -> bool:
        try:
            with bench.store.for_all("test") as work:
                add(work, bench, first)
        except UnauthenticatedError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        with bench.store.for_all("test") as work:
            work.keys.revoke(first.id)
            is_made = threads.submit(make)
            waiting = threads.submit(eventually, lambda: waits(bench, "INSERT INTO api_key"))
            assert waiting.result()
        assert not is_made.result()


def test_who_rotates_a_key_and_who_revokes_its_maker_never_wait_for_each_other(
    bench: Workbench,
) -> None:
    owner = KeyOwner(bench.project.id)
    with bench.store.for_all("test") as work:
        first = add(work, bench)
        child = add(work, bench, first)

    with ThreadPoolExecutor(2) as threads:
        with bench.store.for_all("test") as work:
            assert work.keys.find_live(owner, child.id)
            revoked = threads.submit(revoke, bench, first.id)
            waiting = threads.submit(eventually, lambda: waits(bench, "api_key"))
            assert waiting.result()
            successor = work.keys.add(owner, NewApiKey(None, "cs_", b"new", made_by=first.id))
        revoked.result()
    assert revoked_keys(bench) == [first.id, child.id, successor.id]


def test_each_key_of_a_long_line_is_found_without_looking_at_all(
    databases: DatabaseFactory,
) -> None:
    with databases.migrated() as url, closing(Database(url)) as database:
        bench = Workbench.of(PostgresStore(database))
        bench.sql(_MADE, project=bench.project.id, line=_LINE, every=_LINE + _OTHERS)
        bench.sql("ANALYZE api_key")
        cost = measured(database, lambda: revoke(bench, 1))
        [[revoked]] = bench.sql("SELECT count(*) FROM api_key WHERE revoked_at IS NOT NULL")
    assert revoked == _LINE
    assert cost.blocks < 100 * _LINE
