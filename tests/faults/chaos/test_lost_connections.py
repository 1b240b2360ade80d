"""Connections that Postgres ends, and replies to COMMIT that never arrive, at every step."""

from __future__ import annotations

from context_search.core.callers import Principal
from context_search.core.messages import CompareIndex
from tests.faults.chaos.broken import Breakage
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import EDITED, LONG, Order, Place, check, indexed


def test_a_worker_goes_on_or_somebody_else_does(
    deployment: Deployment, severed: Breakage, owner: Principal
) -> None:
    def prepare() -> Place:
        table = deployment.table(owner, {"a": LONG})
        return table, deployment.tool(table)

    def order(_: Place) -> Order:
        [message] = deployment.orders()
        return "handle", message

    check(deployment, severed.everywhere(prepare, order))


def test_a_comparison_happens_all_the_same(
    deployment: Deployment, severed: Breakage, owner: Principal
) -> None:
    def prepare() -> Place:
        table, tool = indexed(deployment, owner)
        deployment.replace(table, {"a": EDITED, "new": LONG})
        deployment.orders()
        return table, tool

    def order(place: Place) -> Order:
        return "handle", deployment.order(CompareIndex(place[1].index_id))

    check(deployment, severed.everywhere(prepare, order))


def test_a_change_fails_only_while_it_may_be_undone(
    deployment: Deployment, breakage: Breakage, owner: Principal
) -> None:
    def order(place: Place) -> Order:
        return "replace", owner.project_id, place[0].id, {"a": EDITED}

    places = breakage.everywhere(lambda: indexed(deployment, owner), order)
    [failed] = breakage.failed()
    assert "tables.replace+versions.record" in failed
    assert all(deployment.revision(table) == 2 for table, _ in breakage.succeeded())
    check(deployment, places)


def test_creating_a_tool_fails_only_while_it_may_be_undone(
    deployment: Deployment, breakage: Breakage, owner: Principal
) -> None:
    def order(place: Place) -> Order:
        return "create_tool", owner.project_id, place[0].id, "/a"

    places = breakage.everywhere(lambda: indexed(deployment, owner), order)
    [failed] = breakage.failed()
    assert "tools.add" in failed
    assert all(deployment.tools(tool.index_id) == 2 for _, tool in breakage.succeeded())
    check(deployment, places)


def test_deleting_a_tool_fails_only_while_it_may_be_undone(
    deployment: Deployment, breakage: Breakage, owner: Principal
) -> None:
    def order(place: Place) -> Order:
        return "delete_tool", owner.project_id, place[1].id

    places = breakage.everywhere(lambda: indexed(deployment, owner), order)
    [failed] = breakage.failed()
    assert "tools.mark_deleted" in failed
    assert all(deployment.tools(tool.index_id) == 0 for _, tool in breakage.succeeded())
    check(deployment, places)


def test_cleanup_finishes_its_other_steps(deployment: Deployment, breakage: Breakage) -> None:
    place = indexed(deployment, deployment.project())

    def prepare() -> Place:
        deployment.replace(place[0], {"a": f"{EDITED} {len(breakage.outcomes)}"})
        deployment.orders()
        return place

    breakage.everywhere(prepare, lambda _: ("cleanup",))
    assert breakage.failed() == set()  # cleanup reports what failed
    check(deployment, [place])
