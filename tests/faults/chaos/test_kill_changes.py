"""SIGKILL between all outside calls of what callers and operators ask for."""

from __future__ import annotations

import pytest

from context_search.core.callers import Internal, Principal
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import EDITED, Kills, Place, indexed
from tests.faults.chaos.worker_processes import WorkerProcesses


@pytest.fixture
def kills(deployment: Deployment, workers: WorkerProcesses) -> Kills:
    return Kills(deployment, workers)


@pytest.fixture
def owner(deployment: Deployment) -> Principal:
    return deployment.project()


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


def test_deleting_a_tool_may_die_anywhere(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table, tool = indexed(deployment, owner)
        deployment.tool(table, "/b~1c")
        return table, tool

    kills.everywhere(prepare, lambda place: ("delete_tool", owner.project_id, place[1].id))
    kills.check()


def test_deleting_the_last_tool_may_die_anywhere(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    kills.everywhere(
        lambda: indexed(deployment, owner),
        lambda place: ("delete_tool", owner.project_id, place[1].id),
    )
    kills.check()


def test_deleting_a_table_may_die_anywhere(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    kills.everywhere(
        lambda: indexed(deployment, owner),
        lambda place: ("delete_table", owner.project_id, place[0].id),
    )
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
