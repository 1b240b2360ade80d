"""Whose the plans of previews are, and how they are listed and cancelled."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.callers import McpKey
from context_search.core.errors import ConflictError, NotFoundError
from context_search_editing.previewing import PreviewLimits
from tests.editing.novel import FACTORY, NOVEL, WAREHOUSE, asked_for
from tests.editing.replacing import Desk


def test_an_agent_has_the_plans_of_its_instance(stored: Desk) -> None:
    stored.make(*NOVEL)
    agent, other = McpKey(stored.principal.project_id, 3), McpKey(stored.principal.project_id, 4)
    places = tuple((table, "") for table in stored.documents())
    plan = stored.previews.start(agent, asked_for(WAREHOUSE, places=places, mcp_id=3)).plan
    assert plan.previewed_by == "mcp:3"
    assert stored.previews.read(agent, plan.id).plan.id == plan.id
    assert stored.read(plan.id).mcp_id == 3
    of_project = stored.start(WAREHOUSE).plan
    for caller, foreign in ((other, plan), (agent, of_project)):
        with pytest.raises(NotFoundError):
            stored.previews.read(caller, foreign.id)
        with pytest.raises(NotFoundError):
            stored.matches.page(caller, foreign.id)
        with pytest.raises(NotFoundError):
            stored.previews.cancel(caller, foreign.id)
    assert [p.id for p in stored.previews.page(agent, below=None).rows] == [plan.id]


def test_a_foreign_plan_is_not_there(desk: Desk) -> None:
    plan = desk.start("x").plan
    stranger = Desk(desk.store, desk.clock).principal
    for ask in (desk.previews.read, desk.matches.page, desk.previews.cancel):
        with pytest.raises(NotFoundError):
            ask(stranger, plan.id)
    assert desk.previews.page(stranger, below=None).rows == []


def test_a_cancelled_plan_keeps_no_text(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.start(WAREHOUSE, FACTORY).plan
    desk.previews.cancel(desk.principal, plan.id)
    desk.previews.cancel(desk.principal, plan.id)
    cancelled = desk.read(plan.id)
    assert (cancelled.state, cancelled.request) == ("cancelled", None)
    assert (cancelled.counts, cancelled.request_hmac) == (plan.counts, plan.request_hmac)
    assert desk.strings(plan.id) == []


def test_a_preview_that_is_cancelled_ends(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    desk.previews.cancel(desk.principal, plan.id)
    assert desk.previews.run(plan.id) == "nothing_to_do"
    assert desk.read(plan.id).state == "cancelled"


def test_a_plan_that_is_executed_cannot_be_cancelled(desk: Desk) -> None:
    plan = desk.start("x").plan
    with desk.store.for_all("test") as work:
        assert work.plans.begin(replace(plan, state="executing"))
    with pytest.raises(ConflictError):
        desk.previews.cancel(desk.principal, plan.id)
