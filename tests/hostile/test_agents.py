"""An agent who wants what its Search Tool hides: drafts, short strings, and the field between."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.hostile.stranger import Reply, Stranger

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

THRESHOLD = 30
SEEN = "The ferry of the northern harbour leaves at nine."
STORY = {
    "articles": [
        {"status": "public", "text": SEEN},
        {"status": "draft", "text": "SALARY of the harbour master: 12345 crowns a month"},
        {"status": ["draft", "held"], "text": "STRIKE of the harbour is planned for Monday noon"},
        {"text": "NOSTATUS of the harbour, which nobody has published"},
    ],
    "pins": [{"status": "public", "text": "PIN 7788"}],
}
HIDDEN = (
    *("SALARY", "12345", "STRIKE", "Monday", "NOSTATUS", "PIN", "7788"),
    *("/pins", "/status", "/articles/1", "/articles/2", "/articles/3"),
)

HIDDEN_PLACES = ("/articles/1/text", "/articles/2/text", "/articles/3/text", "/pins/0/text")


class Agent:
    """A stranger's agent, which may execute and whose client asks nobody."""

    def __init__(self, owner: Stranger) -> None:
        self.owner = owner
        self.table_id = owner.table(STORY)
        self.tool_id = owner.tool(
            self.table_id,
            where={"status": {"eq": "public"}},
            filterable=["status"],
            agents_may_filter=True,
            chunk_threshold=THRESHOLD,
        )
        body = {"project_id": owner.project_id, "name": "agents", "replace": "execute"}
        body |= {"confirm": "client", "bindings": [{"tool_id": self.tool_id}]}
        made = owner.send("POST", "/api/v1/mcps", json.dumps(body).encode(), function="search")
        assert made.status == 201, made.text
        self.key = made.json["api_key"]

    def send(self, method: str, params: dict[str, Any]) -> Reply:
        """A message of the era before, whose clients cannot be asked."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return replace(self.owner, key=self.key).mcp(message)

    def tools(self) -> set[str]:
        """The names of the tools that it sees."""
        return {tool["name"] for tool in self.send("tools/list", {}).json["result"]["tools"]}

    def by_a_person(self, find: str, becomes: str) -> dict[str, Any]:
        """A plan that a person has made over the whole document."""
        path = f"/api/v1/projects/{self.owner.project_id}/replace/preview"
        body = json.dumps({"find": find, "replace_with": becomes}).encode()
        made = self.owner.send("POST", path, body)
        assert made.status == 200, made.text
        plan: dict[str, Any] = made.json
        return plan


def reading_attacks(
    patterns: Sequence[str], words: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Calls of the tools that read."""
    return {
        "read": [
            *(
                {"collection": "stories", "pointer": pointer}
                for pointer in (*HIDDEN_PLACES, "", "/articles", "/articles/0/status", "/00" * 999)
            ),
            {"collection": "stories", "pointer": "/articles/0/text", "start": 10**9},
            {"collection": "stories", "pointer": "/articles/0/text", "after": 20_000},
            {"cite": "AQ"},
            {"cite": "A" * 64, "collection": "stories"},
        ],
        "find_text": [
            *({"pattern": pattern, "context_chars": 500} for pattern in patterns),
            *({"text": word, "context_chars": 500} for word in words if word not in SEEN),
            {"text": "harbour", "collection": "search"},
            {"text": "harbour", "pattern": "harbour"},
            {"text": "harbour", "cursor": "A" * 48},
            {"pattern": "(" * 900},
        ],
        "outline": [
            {},
            {"collection": "stories"},
            *(
                {"collection": "stories", "pointer": pointer}
                for pointer in (*HIDDEN_PLACES, "/articles", "/articles/0", "/00" * 999)
            ),
            {"collection": "stories", "cursor": "1"},
        ],
    }


def attacks(plan: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Calls of each tool, each of which asks for what is hidden; ``plan`` is a person's."""
    digest, plan_id = plan["digest"], plan["plan_id"]
    becomes = {"replace_with": "x"}
    patterns = ("(?s)^.{1,80}", "(?s).*", "[0-9]+", "^draft$|^public$", "(?i)pin|salary", "\\A|\\z")
    words = ("harbour", "SALARY", "draft", "held", "public", "PIN 7788", "\u200b", "a")
    hidden = {"query": "SALARY STRIKE PIN NOSTATUS harbour", "top_k": 20}
    return {
        "stories": [
            hidden,
            {**hidden, "status": "draft"},
            {**hidden, "status": ["draft", "public"]},
            {**hidden, "status": {"eq": "draft"}},
            {**hidden, "where": None},
            {**hidden, "filter": {"status": {"exists": False}}},
            {**hidden, "chunk_threshold": 1},
            {**hidden, "table_id": 1, "json_path": ""},
        ],
        **reading_attacks(patterns, words),
        "replace_preview": [
            *({**becomes, "find": find, "regex": True} for find in patterns),
            *({**becomes, "find": find} for find in words),
            *({**becomes, "find": find, "case_sensitive": False} for find in words),
            {"find": "draft", "replace_with": "public", "search_tool": "stories"},
            {"find": "harbour", "replace_with": "haven", "plan_id": plan_id},
            {**becomes, "find": "SALARY", "search_tool": "", "scope": {"json_pointer": ""}},
            {**becomes, "find": "SALARY", "tables": [1], "tool_id": None},
        ],
        "replace_execute": [
            {"plan_id": plan_id, "digest": digest},
            {"plan_id": plan_id, "digest": digest, "only": [1]},
            {"plan_id": plan_id, "digest": "0" * 32},
        ],
        "replace_undo": [{"plan_id": plan_id}, {"plan_id": plan_id, "on_conflict": "overwrite"}],
    }


def test_every_tool_of_an_agent_is_attacked(stranger: Stranger) -> None:
    assert Agent(stranger).tools() == attacks({"digest": "", "plan_id": 1}).keys()


@pytest.mark.parametrize("name", attacks({"digest": "", "plan_id": 1}))
def test_an_agent_sees_and_changes_nothing_that_its_tool_hides(
    stranger: Stranger, name: str
) -> None:
    agent = Agent(stranger)
    plan = agent.by_a_person("harbour", "haven")
    for arguments in attacks(plan)[name]:
        reported = agent.send("tools/call", {"name": name, "arguments": arguments})
        body = reported.json
        assert reported.status == 200, reported.text
        seen = json.dumps(body["result"]).replace(str(arguments.get("query")), "")
        assert not [each for each in HIDDEN if each in seen], (arguments, seen)
        found = body["result"].get("structuredContent", {})
        if found.get("digest"):
            named = {"plan_id": found["plan_id"], "digest": found["digest"]}
            done = agent.send("tools/call", {"name": "replace_execute", "arguments": named})
            assert done.json["result"]["structuredContent"]["state"] == "done", done.text
            undo = {"plan_id": found["plan_id"]}
            agent.send("tools/call", {"name": "replace_undo", "arguments": undo})
        kept = stranger.get(agent.table_id).json
        assert kept["articles"][0]["status"] == "public", arguments
        kept["articles"][0]["text"] = SEEN
        assert kept == STORY, arguments
