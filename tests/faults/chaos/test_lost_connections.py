"""Connections that Postgres ends, and replies to COMMIT that never arrive, at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from context_search.domain.access import Principal
from context_search.domain.errors import CommitUnknownError
from testing.in_memory.queue import ListQueue
from tests.faults.chaos.broken import Breakage
from tests.faults.chaos.killing import EDITED, LONG, Order, Place, check, indexed
from tests.faults.chaos.parts import ChaosParts
from tests.faults.chaos.site import Site

VICTIM = "chaos-victim"


@pytest.fixture(scope="module")
def victim(site: Site) -> Iterator[ChaosParts]:
    parts = ChaosParts(
        site.database_url, site.turbopuffer_url, ListQueue(), application_name=VICTIM
    )
    yield parts
    parts.database.close()


def _terminate(site: Site) -> None:
    with site.parts.database.transaction() as tx:
        tx.run(
            """
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE application_name = :name AND datname = current_database()
            """,
            name=VICTIM,
        )


def _lose_reply(_: Site) -> None:
    raise CommitUnknownError("the reply to COMMIT got lost")


@pytest.fixture(params=[_terminate, _lose_reply], ids=["terminated", "reply lost"])
def breakage(site: Site, victim: ChaosParts, request: pytest.FixtureRequest) -> Breakage:
    act: Callable[[Site], None] = request.param
    return Breakage(site, victim, lambda: act(site), only_commits=act is _lose_reply)


@pytest.fixture
def severed(site: Site, victim: ChaosParts) -> Breakage:
    """Only connections that end: these orders are killed after each COMMIT elsewhere."""
    return Breakage(site, victim, lambda: _terminate(site))


@pytest.fixture
def owner(site: Site) -> Principal:
    return site.project()


def test_a_worker_goes_on_or_somebody_else_does(
    site: Site, severed: Breakage, owner: Principal
) -> None:
    def prepare() -> Place:
        table = site.table(owner, {"a": LONG})
        return table, site.tool(table)

    def order(_: Place) -> Order:
        [message] = site.orders()
        return "carry_out", message

    check(site, severed.everywhere(prepare, order))


def test_a_comparison_happens_all_the_same(site: Site, severed: Breakage, owner: Principal) -> None:
    def prepare() -> Place:
        table, tool = indexed(site, owner)
        site.replace(table, {"a": EDITED, "new": LONG})
        site.orders()
        return table, tool

    def order(place: Place) -> Order:
        return "carry_out", {"kind": "enumerate", "index_id": place[1].index_id}

    check(site, severed.everywhere(prepare, order))


def test_a_change_fails_only_while_it_may_be_undone(
    site: Site, breakage: Breakage, owner: Principal
) -> None:
    def order(place: Place) -> Order:
        return "replace", owner.project_id, place[0].id, {"a": EDITED}

    places = breakage.everywhere(lambda: indexed(site, owner), order)
    assert breakage.failed() == {"tables.find+tables.replace+send_waiting"}
    assert all(site.revision(table) == 2 for table, _ in breakage.succeeded())
    check(site, places)


def test_creating_a_tool_fails_only_while_it_may_be_undone(
    site: Site, breakage: Breakage, owner: Principal
) -> None:
    def order(place: Place) -> Order:
        return "create_tool", owner.project_id, place[0].id, "/a"

    places = breakage.everywhere(lambda: indexed(site, owner), order)
    [failed] = breakage.failed()
    assert "tools.add" in failed
    assert all(site.tools(tool.index_id) == 2 for _, tool in breakage.succeeded())
    check(site, places)


def test_deleting_a_tool_fails_only_while_it_may_be_undone(
    site: Site, breakage: Breakage, owner: Principal
) -> None:
    def order(place: Place) -> Order:
        return "delete_tool", owner.project_id, place[1].id

    places = breakage.everywhere(lambda: indexed(site, owner), order)
    [failed] = breakage.failed()
    assert "tools.mark_deleted" in failed
    assert all(site.tools(tool.index_id) == 0 for _, tool in breakage.succeeded())
    check(site, places)


def test_cleanup_finishes_its_other_steps(site: Site, breakage: Breakage) -> None:
    place = indexed(site, site.project())

    def prepare() -> Place:
        site.replace(place[0], {"a": f"{EDITED} {len(breakage.outcomes)}"})
        site.orders()
        return place

    breakage.everywhere(prepare, lambda _: ("cleanup",))
    assert breakage.failed() == set()  # cleanup reports what failed
    check(site, [place])
