"""Puts the documents into a project, has an agent answer all questions, and tells the counts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from mcp import Client

from tests.e2e.reading.agent import Agent
from tests.e2e.reading.questions import COLLECTIONS, Question, questions
from tests.e2e.running import Era, Tenant


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, and what it took."""

    question: Question
    in_best_passage: bool
    found: bool
    calls: int
    result_bytes: int


def furnish(tenant: Tenant) -> list[int]:
    """Makes a table and a Search Tool for each document; returns the tools' ids once indexed."""
    tools = [
        tenant.tool(tenant.table(document()), name=name) for name, document in COLLECTIONS.items()
    ]
    for tool in tools:
        tenant.ready(tool)
    return [int(tool["tool_id"]) for tool in tools]


def ask_all(tenant: Tenant, era: Era, *, reads: bool) -> list[Outcome]:
    """Asks every question, with the reading tools or with the Search Tools alone."""

    async def conversation(client: Client) -> list[Outcome]:
        outcomes = []
        listed = frozenset(tool.name for tool in (await client.list_tools()).tools)
        tools = listed if reads else listed & COLLECTIONS.keys()
        for question in questions():
            agent = Agent(client, question, tools)
            await agent.answer()
            at_once = all(part in agent.best_passage for part in question.answer)
            notes = agent.notes
            counts = (agent.found, notes.calls, notes.result_bytes)
            outcomes.append(Outcome(question, at_once, *counts))
        return outcomes

    return asyncio.run(tenant.as_agent(era, conversation))


def lines(title: str, outcomes: Sequence[Outcome]) -> list[str]:
    """The counts as lines for a terminal."""
    shown = [
        f"{'found' if one.found else '-':5} {one.calls:2} calls {one.result_bytes:8,} bytes"
        f"  {one.question.text}"
        for one in outcomes
    ]
    found = sum(one.found for one in outcomes)
    calls = sum(one.calls for one in outcomes)
    size = sum(one.result_bytes for one in outcomes)
    total = f"{title}: {found} of {len(outcomes)} answers, {calls} calls, {size:,} bytes of results"
    return [*shown, total]
