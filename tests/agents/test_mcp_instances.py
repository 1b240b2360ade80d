"""Contract of ``McpInstances``, and of the tools that an instance sees."""

from __future__ import annotations

from context_search.core.callers import KeyOwner, McpChanges, McpInstance, NewApiKey
from context_search.core.model import Table
from tests.contract.store.bench import Bench


def mcp_of(bench: Bench, table: Table, name: str = "agents") -> McpInstance:
    with bench.store.for_all("test") as work:
        return work.mcp_instances.add(table.project_id, name)


def seen(bench: Bench, mcp: McpInstance) -> list[int]:
    with bench.store.for_all("test") as work:
        page = work.tools.page(mcp.project_id, mcp_id=mcp.id, after=0, limit=99)
    return [tool.id for tool in page]


def test_an_instance_is_found_by_its_own_project_only(bench: Bench) -> None:
    table = bench.table({})
    mcp = mcp_of(bench, table)
    assert (mcp.project_id, mcp.name, mcp.status) == (table.project_id, "agents", True)
    with bench.store.for_all("test") as work:
        assert work.mcp_instances.find(mcp.id, project_id=table.project_id) == mcp
        assert work.mcp_instances.find(mcp.id, project_id=table.project_id + 999) is None
        assert work.mcp_instances.lock(mcp.id, project_id=table.project_id) == mcp
        assert work.mcp_instances.lock(mcp.id, project_id=table.project_id + 999) is None


def test_pages_of_instances_go_up_by_id(bench: Bench) -> None:
    table = bench.table({})
    made = [mcp_of(bench, table, name) for name in "abc"]
    mcp_of(bench, bench.table({}))
    with bench.store.for_all("test") as work:
        assert work.mcp_instances.page(table.project_id, after=0, limit=2) == made[:2]
        assert work.mcp_instances.page(table.project_id, after=made[1].id, limit=2) == made[2:]


def test_an_instance_changes_its_name_and_status(bench: Bench) -> None:
    mcp = mcp_of(bench, bench.table({}))
    with bench.store.for_all("test") as work:
        changed = work.mcp_instances.change(mcp.id, McpChanges(name="other", status=False))
        assert work.mcp_instances.find(mcp.id, project_id=mcp.project_id) == changed
    assert (changed.name, changed.status) == ("other", False)


def test_an_instance_replaces_nothing_unless_somebody_said_so(bench: Bench) -> None:
    table = bench.table({})
    mcp = mcp_of(bench, table)
    assert (mcp.replacing, mcp.confirmation) == ("off", "client")
    with bench.store.for_all("test") as work:
        made = work.mcp_instances.add(
            table.project_id,
            "editors",
            replacing="propose",
            confirmation="required",
            redacts=True,
        )
        assert (made.replacing, made.confirmation) == ("propose", "required")
        assert (mcp.redacts, made.redacts) == (False, True)
        assert work.mcp_instances.page(table.project_id, after=mcp.id, limit=9) == [made]


def test_what_is_not_changed_stays(bench: Bench) -> None:
    mcp = mcp_of(bench, bench.table({}))
    steps = (
        McpChanges(replacing="execute"),
        McpChanges(confirmation="required"),
        McpChanges(status=False),
        McpChanges(redacts=True),
        McpChanges(name="other"),
    )
    for step in steps:
        with bench.store.for_all("test") as work:
            mcp = work.mcp_instances.change(mcp.id, step)
    shown = (mcp.name, mcp.status, mcp.replacing, mcp.confirmation, mcp.redacts)
    assert shown == ("other", False, "execute", "required", True)


def test_an_instance_sees_what_is_bound_and_enabled(bench: Bench) -> None:
    table = bench.table({})
    bound, off, _unbound = (bench.tool(table)[0] for _ in range(3))
    mcp, other = mcp_of(bench, table), mcp_of(bench, table)
    with bench.store.for_all("test") as work:
        work.mcp_instances.bind(mcp.id, bound.id, status=True)
        work.mcp_instances.bind(mcp.id, off.id, status=False)
        work.mcp_instances.bind(other.id, off.id, status=True)
    assert (seen(bench, mcp), seen(bench, other)) == ([bound.id], [off.id])
    with bench.store.for_all("test") as work:
        changed = work.mcp_instances.set_status(mcp.id, off.id, status=True)
        work.mcp_instances.set_status(mcp.id, bound.id, status=False)
    assert changed is not None
    assert changed.status is True
    assert seen(bench, mcp) == [off.id]


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


def test_a_tool_is_bound_once(bench: Bench) -> None:
    table = bench.table({})
    tool, mcp = bench.tool(table)[0], mcp_of(bench, table)
    with bench.store.for_all("test") as work:
        first = work.mcp_instances.bind(mcp.id, tool.id, status=True)
        assert work.mcp_instances.bind(mcp.id, tool.id, status=False) is None
        assert first is not None
        assert (first.mcp_id, first.tool_id, first.status) == (mcp.id, tool.id, True)
        assert work.mcp_instances.unbind(mcp.id, tool.id)
        assert not work.mcp_instances.unbind(mcp.id, tool.id)
        assert work.mcp_instances.set_status(mcp.id, tool.id, status=True) is None
        again = work.mcp_instances.bind(mcp.id, tool.id, status=False)
    assert again is not None
    assert again.id != first.id


def test_bindings_come_by_tool_and_without_deleted_ones(bench: Bench) -> None:
    table = bench.table({})
    tools = [bench.tool(table)[0] for _ in range(4)]
    mcp = mcp_of(bench, table)
    with bench.store.for_all("test") as work:
        for tool in reversed(tools):
            work.mcp_instances.bind(mcp.id, tool.id, status=tool is not tools[1])
        work.tools.mark_deleted(tools[2].id)
        page = work.mcp_instances.bindings(mcp.id, after=0, limit=9)
        assert [tool for _, tool in page] == [tools[0], tools[1], tools[3]]
        assert [binding.status for binding, _ in page] == [True, False, True]
        after = work.mcp_instances.bindings(mcp.id, after=tools[0].id, limit=1)
        assert [tool for _, tool in after] == [tools[1]]
        work.tables.mark_deleted(table.id)
        assert list(work.mcp_instances.bindings(mcp.id, after=0, limit=9)) == []


def test_an_instance_goes_with_its_keys_and_bindings_and_leaves_the_tools(bench: Bench) -> None:
    table = bench.table({})
    tool, mcp = bench.tool(table)[0], mcp_of(bench, table)
    with bench.store.for_all("test") as work:
        work.keys.add(KeyOwner(table.project_id, mcp.id), NewApiKey(None, "cs_mcp_", b"k"))
        work.mcp_instances.bind(mcp.id, tool.id, status=True)
        work.mcp_instances.remove(mcp.id)
        assert work.mcp_instances.find(mcp.id, project_id=table.project_id) is None
        assert list(work.mcp_instances.bindings(mcp.id, after=0, limit=9)) == []
        assert work.tools.find(tool.id, project_id=table.project_id) == tool
    with bench.store.for_all("test") as work:
        assert work.keys.caller_of(b"k", noted_every_s=60) is None
