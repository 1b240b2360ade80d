"""No tool of an agent shows or changes what none of its Search Tools returns any more."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, get_args

import pytest

from context_search.agents.list_tools import RESERVED_NAMES
from context_search.core.callers import Replacing, ToolsOffered
from context_search.core.cites import Cite
from tests.web.access.matrix import AGENT_ROWS, SEARCHES, filled
from tests.web.agent import Agent, agent, data_of, named
from tests.web.api import SMALL, Api, answer

PUBLIC: Mapping[str, Any] = {"status": {"eq": "public"}}
STORY = {
    "articles": [
        {"status": "public", "text": "The harbour of the north is open to everybody."},
        {"status": "draft", "text": "SALARY of the master of the harbour: 12345 a month"},
    ],
    "notes": [{"status": "public", "text": "harbour PIN 7788"}],
}
DRAFT = ("SALARY", "/articles/1")
SHORT = ("PIN", "/notes/0")
GATE = ("/status",)
"""What agents may read where a tool returns it, and never change."""


def unbound(api: Api, mcp: str, tool: int) -> None:
    assert api("DELETE", f"{mcp}/bindings/{tool}").status_code == 204


def disabled(api: Api, mcp: str, tool: int) -> None:
    answer(api("PATCH", f"{mcp}/bindings/{tool}", json={"status": False}), 200)


def deleted(api: Api, mcp: str, tool: int) -> None:
    assert mcp
    assert api("DELETE", f"/api/v1/tools/{tool}").status_code == 204


def narrowed(api: Api, mcp: str, tool: int) -> None:
    assert mcp
    body = {"search_config": {"where": PUBLIC}}
    answer(api("PATCH", f"/api/v1/tools/{tool}", json=body), 200)


WAYS: Mapping[Callable[[Api, str, int], None], tuple[str, ...]] = {
    unbound: DRAFT + SHORT,
    disabled: DRAFT + SHORT,
    deleted: DRAFT + SHORT,
    narrowed: DRAFT,
}
"""How an owner takes strings from an agent, and what is told of those that are gone."""


def with_tools(api: Api, **opted_in: Any) -> tuple[dict[str, Any], Agent, int]:
    """An agent whose tool ``pub`` hides drafts and short strings; its other tool hides nothing."""
    table = api.table(STORY)
    by_status = {"filterable": ["status"], "agents_may_filter": True}
    pub = api.tool(
        table, {**SMALL, "chunk_threshold": 30, "where": PUBLIC, **by_status}, name="pub"
    )
    whole = api.tool(table, {**SMALL, "chunk_threshold": 1}, name="whole")
    return table, agent(api, pub, whole, **opted_in), whole["tool_id"]


@pytest.mark.parametrize("replacing", get_args(Replacing))
def test_every_tool_that_an_agent_sees_is_in_the_matrix(api: Api, replacing: str) -> None:
    _, someone, _ = with_tools(api, replace=replacing)
    offered = get_args(ToolsOffered)
    for tools in offered:
        someone.allow(tools=tools)
        rows = {name: row for name, row in AGENT_ROWS.items() if tools in row.tools}
        seen = {name for name, row in rows.items() if replacing in row.opened_by}
        named_tools = {"pub", "whole"} if SEARCHES in seen else set()
        assert {*someone.listed()} == seen - {SEARCHES} | named_tools
    assert AGENT_ROWS.keys() == RESERVED_NAMES | {SEARCHES}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", AGENT_ROWS)
def test_no_tool_shows_or_changes_what_its_agent_does_not_see_any_more(
    api: Api, name: str, way: Callable[[Api, str, int], None]
) -> None:
    table, someone, whole = with_tools(api)
    executed = someone.previewed("of the", "of a", search_tool="whole")
    someone.done("replace_execute", named(executed))
    plan = someone.previewed("harbour", "haven", search_tool="whole")
    assert (executed["strings_count"], plan["strings_count"]) == (2, 3)
    api.parts.work()
    before = data_of(api, table)
    row = AGENT_ROWS[name]
    hidden = WAYS[way] + (GATE if name.startswith("replace") else ())
    someone.allow(tools=row.tools[-1])
    way(api, f"/api/v1/mcps/{someone.mcp['id']}", whole)
    ids = {**named(plan), "executed_id": executed["plan_id"], "search_tool": "pub"}
    ids["cite"] = str(Cite.of(table["id"], "/articles/1/text", 1, 0, None, 20))
    for client in (someone, someone.with_forms()):
        for call in row.bounded + row.stale + row.missing:
            arguments = filled(call, ids)
            result = client.result("pub" if name == SEARCHES else name, arguments)
            reported = json.dumps(result)
            assert not [each for each in hidden if each in reported], (arguments, reported)
            report = json.loads(result["content"][0]["text"])
            assert report.get("code") == row.code(call)
    assert data_of(api, table) == before
