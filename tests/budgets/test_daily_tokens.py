"""What indexing spends is noted, and a project that has spent its day waits for the next one."""

from __future__ import annotations

from dataclasses import replace

from context_search.budgets.spending import Spending
from context_search.core.limits import DailyLimits, Spent
from context_search.text.chunking import estimated_tokens
from tests.builders import english
from tests.system import System

DAY_S = 86_400.0


def limited(system: System, tokens: int | None) -> None:
    """Gives the system's worker a daily limit."""
    vectors = system.indexer.chunk_vectors
    spending = Spending(system.store, system.clock, DailyLimits(tokens))
    system.indexer = replace(system.indexer, chunk_vectors=replace(vectors, spending=spending))


def spent(system: System) -> list[Spent]:
    with system.store.for_project(1) as work:
        return work.ledger.days(1, limit=31)


def test_the_tokens_of_what_is_embedded_are_noted_and_of_what_is_read_back_are_not() -> None:
    system = System()
    text = english(500)
    table = system.table({"a": text})
    system.tool(table)
    system.work()
    [today] = spent(system)
    assert today.day == system.clock.now().date()
    assert estimated_tokens(text) <= today.embedding_tokens <= 2 * estimated_tokens(text)
    system.replace(system.principal, table.id, {"a": text, "b": text})
    system.work()
    assert spent(system) == [today]


def test_over_its_limit_a_project_waits_until_tomorrow_and_its_status_says_so() -> None:
    system = System()
    limited(system, 1)
    first = system.tool(system.table({"a": english(300, 1)})).tool
    system.work()  # the last batch may go over the limit
    second = system.tool(system.table({"a": english(300, 2), "b": english(300, 3)})).tool
    began, asked = system.clock.now(), len(system.embedder.calls)
    message = system.queue.messages.pop(0)
    done = system.execute(message)
    assert len(system.embedder.calls) == asked
    status = system.read_status(second.id, system.principal)
    assert status.progress.status == "indexing"
    assert status.progress.last_error is not None
    assert status.progress.last_error["code"] == "EMBEDDING_LIMIT_REACHED"
    assert system.read_status(first.id, system.principal).progress.status == "ready"
    system.queue.messages.append(message)
    system.work()
    assert system.clock.now().date() > began.date()
    assert system.read_status(second.id, system.principal).progress.status == "ready"
    assert done.error is not None


def test_days_of_waiting_are_no_failed_attempts() -> None:
    system = System()
    limited(system, 1)
    system.tool(system.table({"a": english(300, 1)}))
    system.work()
    waiting = system.tool(system.table({"a": english(300, 2)})).tool
    message = system.queue.messages.pop(0)
    for _ in range(2 * system.indexer.limits.max_attempts):
        system.execute(message)
        system.clock.advance(60)  # somebody takes it up before its time
    [node] = system.read_status(waiting.id, system.principal).nodes
    assert node.state == "queued"
