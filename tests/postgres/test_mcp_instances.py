"""MCP instances in Postgres: two who change one at the same time."""

from __future__ import annotations

import pytest

from context_search.core.callers import McpChanges
from context_search.core.errors import ContextSearchError
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def test_nobody_lowers_an_instance_while_another_compares_what_it_was(
    bench: Workbench, hasty: PostgresStore
) -> None:
    project_id = bench.project.id
    mcp = bench.work.mcp_instances.add(project_id, "agents", replacing="execute")

    def lower() -> None:
        with hasty.for_project(project_id) as other:
            other.mcp_instances.change(mcp.id, McpChanges(replacing="off"))

    with bench.store.for_project(project_id) as work:
        assert work.mcp_instances.lock(mcp.id, project_id=project_id) == mcp
        with pytest.raises(ContextSearchError) as refused:
            lower()
        assert refused.value.retryable
        same = work.mcp_instances.change(mcp.id, McpChanges(replacing="execute"))
        assert not same.gives_more_than(mcp)
    lower()
    with bench.store.for_project(project_id) as work:
        found = work.mcp_instances.find(mcp.id, project_id=project_id)
    assert found is not None
    assert found.replacing == "off"
