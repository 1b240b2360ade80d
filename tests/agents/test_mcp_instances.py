"""Contract of ``McpInstances``, and of the tools that an instance sees."""

from __future__ import annotations

from context_search.core.callers import McpChanges, McpInstance, McpSettings
from context_search.core.model import Table
from tests.contract.store.bench import Bench


def mcp_of(bench: Bench, table: Table, name: str = "agents") -> McpInstance:
    with bench.store.for_all("test") as work:
        return work.mcp_instances.add(table.project_id, name)


def test_what_is_not_changed_stays(bench: Bench) -> None:
    mcp = mcp_of(bench, bench.table({}))
    steps = (
        McpChanges(replacing="execute"),
        McpChanges(confirmation="client"),
        McpChanges(status=False),
        McpChanges(redacts=True),
        McpChanges(offers="connector"),
        McpChanges(reads=False),
        McpChanges(texts="ours"),
        McpChanges(name="other"),
    )
    for step in steps:
        with bench.store.for_all("test") as work:
            mcp = work.mcp_instances.change(mcp.id, step)
    shown = (mcp.name, mcp.status, mcp.replacing, mcp.confirmation, mcp.redacts)
    assert shown == ("other", False, "execute", "client", True)
    assert (mcp.offers, mcp.reads, mcp.texts) == ("connector", False, "ours")


def test_an_instance_is_made_with_what_is_said(bench: Bench) -> None:
    table = bench.table({})
    said = McpSettings("propose", "client", True, "single", False, "ours")
    with bench.store.for_all("test") as work:
        mcp = work.mcp_instances.add(table.project_id, "agents", said)
        assert work.mcp_instances.find(mcp.id, project_id=table.project_id) == mcp
    assert said == McpSettings(
        mcp.replacing, mcp.confirmation, mcp.redacts, mcp.offers, mcp.reads, mcp.texts
    )


def test_a_row_that_does_not_say_it_reads_nothing_and_has_tools_by_name(bench: Bench) -> None:
    """An instance of the release before, or one that its code makes meanwhile."""
    table = bench.table({})
    with bench.store.for_all("test") as work:
        [[mcp_id]] = work.mcp_instances.tx.run(
            "INSERT INTO mcp (project_id, name) VALUES (:project, 'old') RETURNING id",
            project=table.project_id,
        )
        mcp = work.mcp_instances.find(mcp_id, project_id=table.project_id)
    assert mcp is not None
    assert (mcp.offers, mcp.reads, mcp.texts) == ("named", False, "anyone")


def test_instances_that_replace_in_a_tool_are_told_of_it(bench: Bench) -> None:
    table = bench.table({})
    [tool, other] = [bench.tool(table)[0] for _ in range(2)]
    mcps = [mcp_of(bench, table) for _ in range(6)]
    with bench.store.for_all("test") as work:
        for mcp in mcps:
            work.mcp_instances.bind(mcp.id, tool.id, status=True)
            work.mcp_instances.change(mcp.id, McpChanges(replacing="execute"))
        work.mcp_instances.change(mcps[1].id, McpChanges(replacing="propose"))
        work.mcp_instances.change(mcps[5].id, McpChanges(replacing="off"))
        work.mcp_instances.set_status(mcps[2].id, tool.id, status=False)
        work.mcp_instances.change(mcps[3].id, McpChanges(status=False))
        work.mcp_instances.unbind(mcps[4].id, tool.id)
        work.mcp_instances.bind(mcps[4].id, other.id, status=True)
        found = work.mcp_instances.replacing_in(tool.id, limit=9)
        assert [(mcp.id, mcp.replacing) for mcp in found] == [
            (mcps[0].id, "execute"),
            (mcps[1].id, "propose"),
        ]
        assert work.mcp_instances.replacing_in(tool.id, limit=1) == found[:1]
