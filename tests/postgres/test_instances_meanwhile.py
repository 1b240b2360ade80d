"""An MCP instance that is deleted while its keys are made and revoked, and tools are bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from context_search.access.authenticate import KeyAuthenticator
from context_search.access.keys import KeyOptions, ManageKeys, add_key
from context_search.agents.mcp_instances import ManageBindings, ManageMcps
from context_search.core.callers import KeyOwner, McpInstance
from context_search.core.errors import NotFoundError
from context_search.core.limits import ProjectBounds
from context_search.postgres.pool import Database
from context_search.store import PostgresStore, UnitOfWork
from tests.builders import Workbench, count, waits
from tests.stack import eventually


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def mcp(bench: Workbench) -> McpInstance:
    """An instance with its first key, which has the id 1."""
    instances = ManageMcps(bench.store, KeyAuthenticator(bench.store))
    return instances.create(bench.principal, "agents", [])[0]


def begins_to_wait(
    bench: Workbench, threads: ThreadPoolExecutor, what: Callable[[], object], query: str
) -> Future[object]:
    """Somebody does it, and has come to a lock that is taken."""
    begun = threads.submit(what)
    assert threads.submit(eventually, lambda: waits(bench, query)).result()
    return begun


def key_of(work: UnitOfWork, bench: Workbench, mcp: McpInstance) -> int:
    [key] = work.keys.page(KeyOwner(bench.project.id, mcp.id), after=0, limit=9)
    return key.id


def test_who_rotates_a_key_and_who_deletes_its_instance_never_wait_for_each_other(
    bench: Workbench, threads: ThreadPoolExecutor, mcp: McpInstance
) -> None:
    owner = KeyOwner(bench.project.id, mcp.id)
    delete = ManageMcps(bench.store, KeyAuthenticator(bench.store)).delete
    with bench.store.for_all("test") as work:
        assert work.keys.find_live(owner, key_of(work, bench, mcp))
        deleted = begins_to_wait(
            bench, threads, lambda: delete(bench.principal, mcp.id), "FROM mcp WHERE"
        )
        add_key(work, owner, KeyOptions(), bench.principal, ProjectBounds())
    deleted.result()
    assert (count(bench, "mcp"), count(bench, "api_key")) == (0, 0)


@pytest.mark.parametrize("made", ["key", "binding"])
def test_who_adds_to_an_instance_that_is_deleted_meanwhile_finds_none(
    bench: Workbench, threads: ThreadPoolExecutor, mcp: McpInstance, made: str
) -> None:
    tool, _ = bench.tool(bench.table({}))

    def add() -> object:
        if made == "key":
            return ManageKeys(bench.store).create(bench.principal, mcp.id, KeyOptions())
        bindings = ManageBindings(bench.store)
        return bindings.add(bench.principal, mcp.id, tool.id, status=True)

    with bench.store.for_all("test") as work:
        work.mcp_instances.remove(mcp.id)
        added = begins_to_wait(bench, threads, add, "mcp")
    with pytest.raises(NotFoundError, match="no such MCP instance"):
        added.result()
    assert (count(bench, "api_key"), count(bench, "mcp_binding")) == (0, 0)


def test_a_key_is_revoked_while_its_instance_is_deleted(
    bench: Workbench, threads: ThreadPoolExecutor, mcp: McpInstance
) -> None:
    with bench.store.for_all("test") as work:
        key_id = key_of(work, bench, mcp)
        work.mcp_instances.remove(mcp.id)
        revoke = ManageKeys(bench.store).revoke
        revoked = begins_to_wait(
            bench, threads, lambda: revoke(bench.principal, mcp.id, key_id), "api_key"
        )
    revoked.result()
    assert count(bench, "api_key") == 0


def test_an_instance_is_deleted_while_its_key_is_revoked(
    bench: Workbench, threads: ThreadPoolExecutor, mcp: McpInstance
) -> None:
    delete = ManageMcps(bench.store, KeyAuthenticator(bench.store)).delete
    with bench.store.for_all("test") as work:
        work.keys.revoke(key_of(work, bench, mcp))
        deleted = begins_to_wait(
            bench, threads, lambda: delete(bench.principal, mcp.id), "FROM mcp WHERE"
        )
    deleted.result()
    assert (count(bench, "mcp"), count(bench, "api_key")) == (0, 0)
