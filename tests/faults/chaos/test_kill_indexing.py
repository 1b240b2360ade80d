"""SIGKILL between all outside calls that handle a message."""

from __future__ import annotations

import pytest

from context_search.core.callers import Internal, Principal
from context_search.core.messages import CompareIndex, IndexNodes
from context_search.integrations.ports import MessageBody
from tests.builders import english
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import DOCUMENT, EDITED, LONG, Kills, Order, Place, indexed

SWAP = "nodes.hold+chunks.activate+chunks.postpone_words"


def take(deployment: Deployment) -> MessageBody:
    """The only message that waits."""
    [message] = deployment.orders()
    return message


def test_a_worker_may_die_anywhere_in_a_new_string(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table = deployment.table(owner, {"a": LONG})
        return table, deployment.tool(table)

    calls = kills.everywhere(prepare, lambda _: ("handle", take(deployment)))
    assert calls.count("upsert") >= 2
    assert calls.count("embed") >= 2
    assert "nodes.claim" in calls
    assert SWAP in calls
    kills.check()


def test_a_worker_may_die_anywhere_beside_the_backlog_of_a_neighbour(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    loud, window = deployment.project(), 2 * deployment.parts.settings.index_concurrency
    crowd = [deployment.table(loud, [english(90, seed) for seed in range(16)]) for _ in range(3)]
    backlog = [(table, deployment.tool(table)) for table in crowd]
    waiting = deployment.orders()
    assert len(waiting) == window  # the others wait for a place

    def prepare() -> Place:
        table = deployment.table(owner, {"a": LONG})
        return table, deployment.tool(table)

    calls = kills.everywhere(prepare, lambda _: ("handle", take(deployment)))
    assert "outbox.finish" in " ".join(calls)
    deployment.receive(waiting)
    kills.places += backlog
    kills.check()


@pytest.mark.parametrize(
    ("change", "vectors_come_by"),
    [({"a": EDITED}, "embed"), ({"copy": LONG}, "read vectors")],
    ids=["an edit", "a copy"],
)
def test_a_worker_may_die_anywhere_in_a_changed_string(
    deployment: Deployment,
    kills: Kills,
    owner: Principal,
    change: dict[str, str],
    vectors_come_by: str,
) -> None:
    def prepare() -> Place:
        table, tool = indexed(deployment, owner)
        deployment.replace(table, DOCUMENT | change)
        deployment.orders()
        deployment.parts.use_cases.comparer.compare(tool.index_id)
        return table, tool

    calls = kills.everywhere(prepare, lambda _: ("handle", take(deployment)))
    assert vectors_come_by in calls
    assert SWAP in calls
    kills.check()


def test_a_worker_may_die_anywhere_in_small_strings_that_come_together(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table = deployment.table(owner, [LONG[:50], LONG[50:100]])
        return table, deployment.tool(table)

    def order(place: Place) -> Order:
        table, tool = place
        index = deployment.index(tool)
        with deployment.parts.store.for_all("test") as work:
            known = work.nodes.known(index.generation.id, table.id)
        return "handle", deployment.order(IndexNodes(tuple(node.id for node in known)))

    calls = kills.everywhere(prepare, order)
    assert calls.count("upsert") == 1
    assert calls.count(SWAP) == 1
    kills.check()


def test_a_comparison_may_die_anywhere(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table, tool = indexed(deployment, owner)
        deployment.replace(table, {"a": EDITED, "new": LONG})
        return table, tool

    def order(place: Place) -> Order:
        return "handle", deployment.order(CompareIndex(place[1].index_id))

    assert "send" in kills.everywhere(prepare, order)
    kills.check()


def test_the_switch_to_a_new_generation_may_die_anywhere(
    deployment: Deployment, kills: Kills
) -> None:
    def prepare() -> Place:
        table, tool = indexed(deployment, deployment.project())  # a project builds two at a time
        deployment.parts.use_cases.rebuilds.start(tool.id, Internal())
        deployment.orders()
        deployment.parts.use_cases.comparer.compare(tool.index_id)
        *first, last = deployment.orders()
        for message in first:
            deployment.parts.handle(message)
        deployment.receive([last])
        return table, tool

    calls = kills.everywhere(prepare, lambda _: ("handle", take(deployment)))
    assert any("indexes.switch" in call for call in calls)
    kills.check()


def test_a_worker_whose_table_is_deleted_leaves_nothing_wherever_it_dies(
    deployment: Deployment, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        for table, _ in kills.places:
            if deployment.is_live(table):
                deployment.parts.use_cases.tables.delete(owner, table.id)
        table = deployment.table(owner, {"a": LONG})
        return table, deployment.tool(table)

    kills.everywhere(prepare, lambda _: ("handle", take(deployment)))
    prepare()
    del kills.places[:]
    kills.check()
