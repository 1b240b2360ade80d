"""Expensive requests of a project are let in a few at a time, those of all projects together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from context_search.budgets.shares import (
    MANAGED_IN_ALL,
    MANAGED_PER_PROJECT,
    WAITS_PER_PROJECT,
    managing,
    waiting,
)
from context_search.catalog.versions import CompareVersions
from context_search.core.errors import ManagementBackpressureError
from tests.editing.novel import FACTORY, NOVEL, WAREHOUSE
from tests.editing.replacing import Desk
from tests.system import System


def hold(stack: ExitStack, desk: Desk, count: int, first_project: int | None = None) -> None:
    """Other requests: of the caller's project, or of one project each."""
    for number in range(count):
        own = desk.principal.project_id
        project_id = own if first_project is None else first_project + number
        stack.enter_context(managing(desk.store, project_id))


@pytest.fixture
def requests(desk: Desk) -> dict[str, Callable[[], object]]:
    """What is expensive, as a caller asks for it."""
    [table, *_] = desk.make(*NOVEL)
    plan = desk.start(WAREHOUSE, FACTORY).plan
    done = desk.execute(desk.start(WAREHOUSE, "x").plan)
    compare = CompareVersions(desk.store).compare
    return {
        "preview": lambda: desk.start(WAREHOUSE, FACTORY),
        "matches": lambda: desk.matches.page(desk.principal, plan.id, limit=1),
        "diff": lambda: compare(desk.principal, table.id, 1, None, after=0),
        "dry run": lambda: desk.undo(done.plan, dry_run=True),
    }


@pytest.mark.parametrize("name", ["preview", "matches", "diff", "dry run"])
def test_a_project_has_so_many_expensive_requests_at_once_and_no_more(
    desk: Desk, requests: dict[str, Callable[[], object]], name: str
) -> None:
    with ExitStack() as others:
        hold(others, desk, MANAGED_PER_PROJECT)
        with pytest.raises(ManagementBackpressureError, match="the project may have 2") as refused:
            requests[name]()
        assert refused.value.retry_after_s == 1.0
    if name != "matches":  # its strings have changed since
        requests[name]()


@pytest.mark.parametrize("name", ["preview", "diff"])
def test_all_projects_together_have_so_many(
    desk: Desk, requests: dict[str, Callable[[], object]], name: str
) -> None:
    with ExitStack() as others:
        hold(others, desk, MANAGED_IN_ALL, first_project=1_000)
        with pytest.raises(ManagementBackpressureError, match="all projects together"):
            requests[name]()
    with ExitStack() as others:
        hold(others, desk, MANAGED_PER_PROJECT)  # the refused one has given its place back


def test_who_has_no_request_yet_is_let_in_beside_projects_that_ask_for_more(desk: Desk) -> None:
    with ExitStack() as others:
        hold(others, desk, MANAGED_IN_ALL // 2, first_project=1_000)
        for project_id in range(1_000, 1_000 + MANAGED_IN_ALL // 2):
            with pytest.raises(ManagementBackpressureError), managing(desk.store, project_id):
                pass
        hold(others, desk, 1)


def test_a_create_waits_no_longer_than_the_deployment_lets_it_and_a_few_at_a_time() -> None:
    system = System()
    made = system.tool(system.table({"a": "A string that is long enough to be indexed."})).tool

    def waited_s() -> float:
        began = system.clock.monotonic()
        status = system.wait_for_index.status(made.id, system.principal, timeout_s=25)
        assert status.progress.status == "indexing"
        return system.clock.monotonic() - began

    assert waited_s() == pytest.approx(5.0)
    with ExitStack() as others:
        for _ in range(WAITS_PER_PROJECT):
            assert others.enter_context(waiting(system.store, made.project_id))
        assert waited_s() == 0.0
    assert waited_s() == pytest.approx(5.0)
