"""Keys and MCP instances that are made, changed, revoked and deleted at the same time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial

import pytest

from context_search.access.authenticate import KeyAuthenticator
from context_search.access.keys import KeyOptions, ManageKeys, add_key
from context_search.agents.mcp_instances import ManageBindings, ManageMcps
from context_search.core.callers import ApiKey, KeyOwner, McpChanges, McpInstance, NewApiKey
from context_search.core.errors import NotFoundError, UnauthenticatedError
from context_search.core.limits import ProjectBounds
from context_search.postgres.pool import Database
from context_search.store import PostgresStore, UnitOfWork
from testing.postgres_cost import measured
from tests.builders import Workbench, present
from tests.stack import DatabaseFactory

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
def mcp(bench: Workbench) -> McpInstance:
    """An instance with its first key."""
    instances = ManageMcps(bench.store, KeyAuthenticator(bench.store))
    return instances.create(bench.principal, "agents", [])[0]


def key_of(bench: Workbench, mcp: McpInstance) -> int:
    [key] = bench.work.keys.page(KeyOwner(bench.project.id, mcp.id), after=0, limit=9)
    return key.id


def deleting(bench: Workbench, mcp: McpInstance) -> Callable[[], None]:
    instances = ManageMcps(bench.store, KeyAuthenticator(bench.store))
    return partial(instances.delete, bench.principal, mcp.id)


def test_rotating_a_key_and_deleting_its_instance_never_deadlock(
    bench: Workbench, mcp: McpInstance
) -> None:
    owner, key_id = KeyOwner(bench.project.id, mcp.id), key_of(bench, mcp)
    with bench.store.for_all("test") as work:
        assert work.keys.find_live(owner, key_id)
        deleted = bench.begun(deleting(bench, mcp))
        assert not deleted.done()
        add_key(work, owner, KeyOptions(), bench.principal, ProjectBounds())
    deleted.result()
    assert (bench.count("mcp"), bench.count("api_key")) == (0, 0)


@pytest.mark.parametrize("made", ["key", "binding"])
def test_who_adds_to_an_instance_that_is_deleted_meanwhile_finds_none(
    bench: Workbench, mcp: McpInstance, made: str
) -> None:
    tool, _ = bench.tool(bench.table({}))

    def add() -> object:
        if made == "key":
            return ManageKeys(bench.store).create(bench.principal, mcp.id, KeyOptions())
        bindings = ManageBindings(bench.store)
        return bindings.add(bench.principal, mcp.id, tool.id, status=True)

    with bench.store.for_all("test") as work:
        work.mcp_instances.remove(mcp.id)
        added = bench.begun(add)
        assert not added.done()
    with pytest.raises(NotFoundError, match="no such MCP instance"):
        added.result()
    assert (bench.count("api_key"), bench.count("mcp_binding")) == (0, 0)


@pytest.mark.parametrize("first", ["delete", "revoke"])
def test_an_instance_is_deleted_while_its_key_is_revoked(
    bench: Workbench, mcp: McpInstance, first: str
) -> None:
    key_id = key_of(bench, mcp)
    revoke = partial(ManageKeys(bench.store).revoke, bench.principal, mcp.id, key_id)
    with bench.store.for_all("test") as work:
        if first == "delete":
            work.mcp_instances.remove(mcp.id)
        else:
            work.keys.revoke(key_id)
        second = bench.begun(revoke if first == "delete" else deleting(bench, mcp))
        assert not second.done()
    second.result()
    assert (bench.count("mcp"), bench.count("api_key")) == (0, 0)


def test_nobody_lowers_an_instance_while_another_compares_what_it_was(
    bench: Workbench, mcp: McpInstance
) -> None:
    def replacing() -> str:
        found = present(bench.work.mcp_instances.find(mcp.id, project_id=bench.project.id))
        return found.replacing

    raised, lowered = McpChanges(replacing="execute"), McpChanges(replacing="off")
    bench.work.mcp_instances.change(mcp.id, raised)
    with bench.store.for_project(bench.project.id) as work:
        before = present(work.mcp_instances.lock(mcp.id, project_id=bench.project.id))
        lower = bench.begun(bench.work.mcp_instances.change, mcp.id, lowered)
        assert not lower.done()
        assert not work.mcp_instances.change(mcp.id, raised).gives_more_than(before)
    lower.result()
    assert replacing() == "off"


def add(work: UnitOfWork, bench: Workbench, made_by: ApiKey | None = None) -> ApiKey:
    owner, name = KeyOwner(bench.project.id), f"{bench.project.id}-{made_by and made_by.id}"
    maker = made_by.id if made_by else None
    actor = None if made_by else ACTOR
    new = NewApiKey(None, "cs_", name.encode(), made_by=maker, actor=actor)
    return work.keys.add(owner, new)


def revoke_actor(bench: Workbench, _: int) -> None:
    with bench.store.for_project(bench.project.id) as work:
        assert work.keys.revoke_actor(bench.project.id, ACTOR) == 3


def revoked_keys(bench: Workbench) -> list[int]:
    keys = bench.work.keys.page(KeyOwner(bench.project.id), after=0, limit=9)
    return [key.id for key in keys if key.revoked_at]


@pytest.mark.parametrize(
    "way", [lambda bench, key_id: bench.work.keys.revoke(key_id), revoke_actor]
)
def test_a_key_that_a_descendant_makes_meanwhile_is_revoked_too(
    bench: Workbench, way: Callable[[Workbench, int], None]
) -> None:
    with bench.store.for_all("test") as work:
        first = add(work, bench)
        child = add(work, bench, first)
    with bench.store.for_all("test") as work:
        grandchild = add(work, bench, child)
        revoked = bench.begun(way, bench, first.id)
        assert not revoked.done()
    revoked.result()
    assert revoked_keys(bench) == [first.id, child.id, grandchild.id]


def test_who_makes_a_key_waits_for_who_revokes_the_maker_and_makes_none(bench: Workbench) -> None:
    with bench.store.for_all("test") as work:
        first = add(work, bench)

    def make() -> None:
        with bench.store.for_all("test") as work:
            add(work, bench, first)

    with bench.store.for_all("test") as work:
        work.keys.revoke(first.id)
        made = bench.begun(make)
        assert not made.done()
    with pytest.raises(UnauthenticatedError):
        made.result()


def test_rotating_a_key_and_revoking_its_maker_never_deadlock(bench: Workbench) -> None:
    owner = KeyOwner(bench.project.id)
    with bench.store.for_all("test") as work:
        first = add(work, bench)
        child = add(work, bench, first)
    with bench.store.for_all("test") as work:
        assert work.keys.find_live(owner, child.id)
        revoked = bench.begun(bench.work.keys.revoke, first.id)
        assert not revoked.done()
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
        cost = measured(database, lambda: bench.work.keys.revoke(1))
        [[revoked]] = bench.sql("SELECT count(*) FROM api_key WHERE revoked_at IS NOT NULL")
    assert revoked == _LINE
    assert cost.blocks < 100 * _LINE
