"""Connections that Postgres ends, and replies to COMMIT that never arrive, at every step."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    ("what", "fails_at"),
    [
        ("replace", "tables.replace+versions.record"),
        ("create_tool", "tools.add"),
        ("delete_tool", "tools.mark_deleted"),
    ],
)
def test_a_change_fails_only_while_it_may_be_undone(
    deployment: Deployment, breakage: Breakage, owner: Principal, what: str, fails_at: str
) -> None:
    def order(place: Place) -> Order:
        table, tool = place
        if what == "replace":
            return what, owner.project_id, table.id, {"a": EDITED}
        if what == "create_tool":
            return what, owner.project_id, table.id, "/a"
        return what, owner.project_id, tool.id

    def is_done(place: Place) -> bool:
        table, tool = place
        if what == "replace":
            return deployment.revision(table) == 2
        return deployment.tools(tool.index_id) == {"create_tool": 2, "delete_tool": 0}[what]

    places = breakage.everywhere(lambda: indexed(deployment, owner), order)
    [failed] = breakage.failed()
    assert fails_at in failed
    assert all(map(is_done, breakage.succeeded()))
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
