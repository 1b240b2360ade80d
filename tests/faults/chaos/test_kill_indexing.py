"""SIGKILL between all outside calls of the orders of the queue."""

from __future__ import annotations

import pytest

from context_search.domain.access import Internal, Principal
from context_search.ports.outside import Message
from context_search.services.indexing.outgoing import WINDOW
from tests.builders import english
from tests.faults.chaos.killing import DOCUMENT, EDITED, LONG, Kills, Order, Place, indexed
from tests.faults.chaos.mortal import Mortals
from tests.faults.chaos.site import Site

SWAP = "nodes.hold+chunks.mark_present+keywords.put+chunks.activate"


@pytest.fixture
def kills(site: Site, workers: Mortals) -> Kills:
    return Kills(site, workers)


@pytest.fixture
def owner(site: Site) -> Principal:
    return site.project()


def take(site: Site) -> Message:
    """The only order that waits."""
    [message] = site.orders()
    return message


def test_a_worker_may_die_anywhere_in_a_new_string(
    site: Site, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table = site.table(owner, {"a": LONG})
        return table, site.tool(table)

    calls = kills.everywhere(prepare, lambda _: ("carry_out", take(site)))
    assert calls.count("upsert") >= 2
    assert calls.count("embed") >= 2
    assert "nodes.claim" in calls
    assert SWAP in calls
    kills.check()


def test_a_worker_may_die_anywhere_beside_the_backlog_of_a_neighbour(
    site: Site, kills: Kills, owner: Principal
) -> None:
    loud = site.project()
    crowd = [site.table(loud, [english(90, seed) for seed in range(WINDOW)]) for _ in range(2)]
    backlog = [(table, site.tool(table)) for table in crowd]
    waiting = site.orders()
    assert len(waiting) == WINDOW  # the others wait for a place

    def prepare() -> Place:
        table = site.table(owner, {"a": LONG})
        return table, site.tool(table)

    calls = kills.everywhere(prepare, lambda _: ("carry_out", take(site)))
    assert "outbox.finish" in " ".join(calls)
    site.receive(waiting)
    kills.places += backlog
    kills.check()


def test_a_worker_may_die_anywhere_in_a_changed_string(
    site: Site, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table, tool = indexed(site, owner)
        site.replace(table, DOCUMENT | {"a": EDITED})
        site.orders()
        site.parts.comparer.compare(tool.index_id)
        return table, tool

    calls = kills.everywhere(prepare, lambda _: ("carry_out", take(site)))
    assert "read vectors" in calls
    kills.check()


def test_a_worker_may_die_anywhere_in_small_strings_that_come_together(
    site: Site, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        table = site.table(owner, [LONG[:50], LONG[50:100]])
        return table, site.tool(table)

    def order(place: Place) -> Order:
        table, tool = place
        index = site.index(tool)
        with site.parts.store.for_all("test") as work:
            known = work.nodes.known(index.generation_id, table.id)
        return "carry_out", {"kind": "nodes", "node_ids": [node.id for node in known]}

    calls = kills.everywhere(prepare, order)
    assert calls.count("upsert") == 1
    assert calls.count(SWAP) == 1
    kills.check()


def test_a_comparison_may_die_anywhere(site: Site, kills: Kills, owner: Principal) -> None:
    def prepare() -> Place:
        table, tool = indexed(site, owner)
        site.replace(table, {"a": EDITED, "new": LONG})
        return table, tool

    def order(place: Place) -> Order:
        return "carry_out", {"kind": "enumerate", "index_id": place[1].index_id}

    assert "send" in kills.everywhere(prepare, order)
    kills.check()


def test_the_switch_to_a_new_generation_may_die_anywhere(site: Site, kills: Kills) -> None:
    def prepare() -> Place:
        table, tool = indexed(site, site.project())  # a project builds two at a time
        site.parts.operations.rebuilds.start(tool.id, Internal())
        site.orders()
        site.parts.comparer.compare(tool.index_id)
        *first, last = site.orders()
        for message in first:
            site.parts.carry_out(message)
        site.receive([last])
        return table, tool

    calls = kills.everywhere(prepare, lambda _: ("carry_out", take(site)))
    assert any("rebuilds.switch" in call for call in calls)
    kills.check()


def test_a_worker_whose_table_is_deleted_leaves_nothing_wherever_it_dies(
    site: Site, kills: Kills, owner: Principal
) -> None:
    def prepare() -> Place:
        for table, _ in kills.places:
            if site.is_live(table):
                site.parts.tables.delete(owner, table.id)
        table = site.table(owner, {"a": LONG})
        return table, site.tool(table)

    kills.everywhere(prepare, lambda _: ("carry_out", take(site)))
    prepare()
    del kills.places[:]
    kills.check()
