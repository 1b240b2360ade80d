"""Agents change what a search with their tools can return, also where a worker does it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from context_search.agents.list_tools import ListTools
from context_search.core.callers import McpKey
from context_search.core.errors import ReplaceStaleError
from context_search.core.filters import parse_filter
from context_search.core.model import Table
from context_search_editing.previewing import PreviewLimits
from context_search_editing.rules.plans import Plan
from context_search_editing.rules.replacing import ReplaceRequest
from context_search_editing.showing import ShowMatches
from tests.contract.store.bench import PostgresBench
from tests.editing.replacing import Desk, changed_in

PUBLIC = {"status": {"eq": "public"}}
REX = ReplaceRequest("Rex", "Max")
ARTICLES = {
    "articles": [
        {"status": "public", "text": "The dog Rex is well known."},
        {"status": "draft", "text": "Rex earns 12345, and nobody knows."},
        {"status": "public", "text": "Rex"},
    ]
}


@pytest.fixture
def desk(stored: Desk) -> Desk:
    """In PostgreSQL, which has MCP instances."""
    return stored


def kennel(desk: Desk) -> tuple[Table, McpKey]:
    """A document, and an agent whose tool hides drafts and what is shorter than 10 characters."""
    [table] = desk.make(ARTICLES)
    return table, desk.agent(table, threshold=10, where=PUBLIC)


def enlarge(bench: PostgresBench, plan: Plan) -> None:
    """Makes the documents of a plan too large for the transaction of an undo."""
    with bench.database.transaction() as tx:
        tx.run("UPDATE replace_table SET bytes = 1000000000 WHERE plan_id = :id", id=plan.id)


def pointers(desk: Desk, plan: Plan) -> list[str]:
    return [string.json_pointer for string in desk.strings(plan.id)]


@pytest.mark.parametrize("is_left_to_a_worker", [False, True])
def test_a_preview_looks_through_what_a_search_can_return(
    desk: Desk, *, is_left_to_a_worker: bool
) -> None:
    _, agent = kennel(desk)
    if is_left_to_a_worker:
        desk = desk.having(limits=PreviewLimits(bytes=0))
    plan = desk.preview_by(agent, REX).plan
    assert plan.state == ("previewing" if is_left_to_a_worker else "ready")
    if is_left_to_a_worker:
        desk.run_plan(plan)
    assert pointers(desk, plan) == ["/articles/0/text"]
    [match] = desk.matches.page(agent, plan.id).rows
    assert match.json_pointer == "/articles/0/text"


def test_nothing_is_told_of_what_is_out_of_reach(desk: Desk) -> None:
    [table] = desk.make({"a": {"s": "public", "t": "only ascii here"}, "b": {"t": "雨停了 1,234"}})
    agent = desk.agent(table, where={"s": {"eq": "public"}})
    for request in (ReplaceRequest(r"\d|雨", "", regex=True), ReplaceRequest("雨", "")):
        plan = desk.preview_by(agent, request).plan
        assert (plan.counts.matches, plan.counts.warnings) == (0, ())


def where(desk: Desk, agent: McpKey, wanted: object) -> None:
    """The owner gives the tool another ``where``."""
    [named], _ = ListTools(desk.store).page(agent)
    search = replace(named.tool.search, where=parse_filter(wanted))
    desk.work.tools.change(named.tool.id, replace(named.tool.settings, search=search))


def other_where(desk: Desk, table: Table, agent: McpKey) -> None:
    del table
    where(desk, agent, {"status": {"eq": "draft"}})


def where_of_the_text(desk: Desk, table: Table, agent: McpKey) -> None:
    del table
    where(desk, agent, {"text": {"exists": True}})


def unbound(desk: Desk, table: Table, agent: McpKey) -> None:
    del table
    [named], _ = ListTools(desk.store).page(agent)
    desk.work.mcp_instances.set_status(agent.mcp_id, named.tool.id, status=False)


def draft(desk: Desk, table: Table, agent: McpKey) -> None:
    del agent
    desk.put(table, "draft", "/articles/0/status")


HIDE = pytest.mark.parametrize("hide", [other_where, where_of_the_text, unbound, draft])
Hide = Callable[[Desk, Table, McpKey], None]


def refused(reported: pytest.ExceptionInfo[ReplaceStaleError], table: Table) -> None:
    """Says so by a reason, and nothing of the string."""
    [changed] = changed_in(reported.value)
    assert (changed["table_id"], changed["reason"]) == (table.id, "OUT_OF_REACH")
    assert changed["json_pointer"] == ""


@HIDE
def test_what_a_tool_hides_since_the_preview_is_neither_shown_nor_changed(
    desk: Desk, hide: Hide
) -> None:
    table, agent = kennel(desk)
    plan = desk.preview_by(agent, REX).plan
    hide(desk, table, agent)
    before = desk.text(table)
    with pytest.raises(ReplaceStaleError) as reported:
        desk.matches.page(agent, plan.id)
    refused(reported, table)
    with pytest.raises(ReplaceStaleError) as reported:
        desk.execute(plan, principal=agent)
    refused(reported, table)
    assert desk.text(table) == before
    assert desk.execute(plan).done_count == 1  # a person sees it all


@HIDE
@pytest.mark.parametrize("dry_run", [True, False])
def test_what_a_tool_hides_since_it_was_executed_is_not_taken_back(
    desk: Desk, hide: Hide, *, dry_run: bool
) -> None:
    table, agent = kennel(desk)
    plan = desk.preview_by(agent, REX).plan
    desk.execute(plan, principal=agent)
    hide(desk, table, agent)
    before = desk.text(table)
    with pytest.raises(ReplaceStaleError) as reported:
        desk.undos.undo(agent, plan.id, on_conflict="skip", dry_run=dry_run, request_id=None)
    refused(reported, table)
    assert desk.text(table) == before
    assert desk.undo(desk.plan(plan)).done_count == 1


@HIDE
def test_a_worker_leaves_alone_what_a_tool_hides_by_then(desk: Desk, hide: Hide) -> None:
    table, agent = kennel(desk)
    plan = desk.as_large(desk.preview_by(agent, REX).plan)
    desk.execute(plan, principal=agent)
    hide(desk, table, agent)
    before = desk.text(table)
    assert desk.run_plan(plan) == "failed"
    assert "OUT_OF_REACH" in str(desk.failure(plan)["message"])
    assert [row.reason for row in desk.rows(plan)] == ["OUT_OF_REACH"]
    assert desk.text(table) == before


@HIDE
def test_a_worker_takes_nothing_back_that_a_tool_hides_by_then(
    desk: Desk, bench: PostgresBench, hide: Hide
) -> None:
    table, agent = kennel(desk)
    plan = desk.preview_by(agent, REX).plan
    desk.execute(plan, principal=agent)
    enlarge(bench, plan)
    undo = desk.undos.undo(agent, plan.id, on_conflict="skip", dry_run=False, request_id=None).plan
    hide(desk, table, agent)
    before = desk.text(table)
    desk.run_plan(undo)
    [row] = desk.rows(undo)
    assert (row.state, row.reason, row.kept) == ("skipped", "OUT_OF_REACH", 1)
    assert desk.text(table) == before


def test_a_person_executes_and_undoes_the_plan_of_an_agent_by_a_worker(
    desk: Desk, bench: PostgresBench
) -> None:
    table, agent = kennel(desk)
    plan = desk.as_large(desk.preview_by(agent, REX).plan)
    unbound(desk, table, agent)
    desk.execute(plan)
    assert desk.run_plan(plan) == "done"
    enlarge(bench, plan)
    undo = desk.undo(desk.plan(plan)).plan
    assert desk.run_plan(undo) == "done"
    assert json.loads(desk.text(table)) == ARTICLES


def test_of_a_document_that_is_read_string_by_string_an_agent_sees_no_places(desk: Desk) -> None:
    table, agent = kennel(desk)
    plan = desk.preview_by(agent, REX).plan
    matches = ShowMatches(desk.store, desk.patterns, desk.clock, document_bytes=60)
    assert matches.page(agent, plan.id).rows == []
    assert len(matches.page(desk.principal, plan.id).rows) == 1
    assert plan.counts.tables == len([table])
