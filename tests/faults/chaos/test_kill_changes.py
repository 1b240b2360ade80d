"""SIGKILL between all outside calls of what callers and operators ask for."""

from __future__ import annotations

import pytest

from context_search.core.callers import Internal, Principal
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import EDITED, Kills, Order, Place, indexed


def test_creating_a_tool_may_die_anywhere(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table, tool = indexed(deployment, owner)
        deployment.replace(table, {"a": EDITED})
        return table, tool

    calls = kills.everywhere(
        prepare, lambda place: ("create_tool", owner.project_id, place[0].id, "/a")
    )
    assert any("tools.add" in call for call in calls)
    kills.check()


def test_a_change_of_a_document_may_die_anywhere(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    calls = kills.everywhere(
        lambda: indexed(deployment, owner),
        lambda place: ("replace", owner.project_id, place[0].id, {"a": EDITED}),
    )
    assert "send" in calls
    kills.check()


@pytest.mark.parametrize("what", ["a tool", "the last tool", "a table"])
def test_deleting_may_die_anywhere(
    deployment: Deployment, kills: Kills, owner: Principal, what: str
) -> None:
    def prepare() -> Place:
        table, tool = indexed(deployment, owner)
        if what == "a tool":
            deployment.tool(table, "/b~1c")
        return table, tool

    def order(place: Place) -> Order:
        table, tool = place
        if what == "a table":
            return "delete_table", owner.project_id, table.id
        return "delete_tool", owner.project_id, tool.id

    kills.everywhere(prepare, order)
    kills.check()


def test_the_start_of_a_rebuild_may_die_anywhere(deployment: Deployment, kills: Kills) -> None:
    kills.everywhere(
        lambda: indexed(deployment, deployment.project()),  # a project builds two at a time
        lambda place: ("start_rebuild", place[1].id),
    )
    kills.check()


def test_going_back_may_die_anywhere(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table, tool = indexed(deployment, owner)
        deployment.parts.use_cases.rebuilds.start(tool.id, Internal())
        deployment.work()
        deployment.replace(table, {"a": EDITED})
        deployment.work()
        return table, tool

    kills.everywhere(prepare, lambda place: ("roll_back", place[1].id))
    kills.check()
