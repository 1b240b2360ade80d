"""Creates, changes, deletes and workers at once over one table: no deadlock, double or error."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial

import pytest

from context_search.core.callers import Principal
from context_search.core.messages import IndexNodes, message_from_json
from context_search.core.model import Table
from context_search.indexing.node_report import RetryLater
from context_search.integrations.ports import MessageBody
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from testing.in_memory.queue import ListQueue
from tests.builders import english
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import check
from tests.faults.chaos.parts import ChaosParts, wanted_tool

THREADS = 12
SCOPES = ["", "/a", "/a/0", "/a/1", "/b", "/b/deep", "/nothing"]
DOCUMENT = {"a": [english(90, 1), english(90, 2)], "b": {"deep": english(90, 3)}}


@pytest.fixture(scope="module")
def crowd(deployment: Deployment) -> Iterator[ChaosParts]:
    """A process with a connection for every thread."""
    parts = ChaosParts(
        deployment.database_url, deployment.turbopuffer_url, deployment.queue, connections=THREADS
    )
    yield parts
    parts.database.close()


@pytest.fixture(autouse=True)
def no_deadlock(deployment: Deployment) -> Iterator[None]:
    """Postgres counts them; a backend tells its counts when its transaction has ended."""
    before = _deadlocks(deployment)
    yield
    assert _deadlocks(deployment) == before


def _deadlocks(deployment: Deployment) -> int:
    with deployment.parts.database.transaction() as tx:
        [[count]] = tx.run(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        )
    return int(count)


def at_once(orders: list[Callable[[], object]], threads_count: int = THREADS) -> list[object]:
    """Does all of them by threads, in random order; raises what one raised."""
    random.shuffle(orders)
    with ThreadPoolExecutor(threads_count) as threads:
        return [future.result() for future in [threads.submit(order) for order in orders]]


def worker(parts: ChaosParts, queue: ListQueue) -> Callable[[], None]:
    """Takes messages until there is none; what is not done by then is left to cleanup."""

    def take() -> MessageBody | None:
        try:
            return queue.messages.pop(0)
        except IndexError:
            return None

    def work() -> None:
        while (message := take()) is not None:
            with suppress(RetryLater):
                parts.handle(message)

    return work


def create(parts: ChaosParts, table: Table, scope: str) -> Callable[[], int]:
    def order() -> int:
        made = parts.use_cases.tools.tools.create(wanted_tool(table.project_id, table.id, scope))
        return made.tool.id

    return order


def change(parts: ChaosParts, table: Table, number: int) -> Callable[[], object]:
    document = DOCUMENT | {"a": [english(90, 1), english(90, 10 + number)]}
    if number % 3 == 0:
        document = {"a": [english(90, 20 + number)]}
    return lambda: parts.orders["replace"](table.project_id, table.id, document)


def test_fifty_creates_over_overlapping_scopes_are_one_index(
    deployment: Deployment, crowd: ChaosParts, owner: Principal
) -> None:
    table = deployment.table(owner, DOCUMENT)
    made = at_once([create(crowd, table, SCOPES[n % len(SCOPES)]) for n in range(50)])
    assert len(set(made)) == 50
    with deployment.parts.database.transaction() as tx:
        counts = tx.run(
            """
            SELECT (SELECT count(*) FROM search_index), (SELECT count(*) FROM index_generation),
                   (SELECT count(*) FROM node), (SELECT count(*) FROM coverage),
                   (SELECT count(*) FROM outbox WHERE sent_at IS NULL)
            """
        )
    assert counts == [[1, 1, 3, 50, 0]]
    nodes = [message["node_id"] for message in deployment.queue.messages if "node_id" in message]
    assert len(nodes) == len(set(nodes)) == 3
    check(deployment, [(table, deployment.tool(table))])


def test_fifty_creates_over_a_large_document_wait_for_no_timeout_of_production(
    deployment: Deployment, owner: Principal
) -> None:
    text = english(2_500)
    table = deployment.table(owner, [text[n:] + text[:n] for n in range(320)])
    scopes = ["", "/0", *(f"/{n}" for n in range(48))]
    crowd = ChaosParts(deployment.database_url, deployment.turbopuffer_url, deployment.queue)
    crowd.database = Database(DatabaseUrl.parse(deployment.database_url), max_connections=50)
    with closing(crowd.database):
        at_once([create(crowd, table, scope) for scope in scopes], 50)
    with deployment.parts.database.transaction() as tx:
        counts = tx.run(
            """
            SELECT (SELECT count(*) FROM node), (SELECT count(*) FROM coverage),
                   (SELECT count(*) FROM outbox WHERE body ->> 'kind' = 'enumerate')
            """
        )
    assert counts == [[320, 50, 0]]
    # On a busy machine a claim may end before it is noted: an order is sent twice, never lost.
    orders = [message_from_json(message) for message in deployment.orders()]
    named = [order.node_ids for order in orders if isinstance(order, IndexNodes)]
    assert len({node_id for ids in named for node_id in ids}) == 320
    deployment.clear()


def test_changes_while_it_is_indexed(
    deployment: Deployment, crowd: ChaosParts, owner: Principal
) -> None:
    table = deployment.table(owner, DOCUMENT)
    tool = deployment.tool(table)
    orders: list[Callable[[], object]] = [change(crowd, table, n) for n in range(20)]
    at_once([*orders, *[worker(crowd, deployment.queue) for _ in range(20)]])
    check(deployment, [(table, tool)])


def test_a_neighbour_writes_all_the_time_while_strings_are_indexed(
    deployment: Deployment, crowd: ChaosParts, owner: Principal
) -> None:
    table, loud = (
        deployment.table(owner, DOCUMENT),
        deployment.table(deployment.project(), DOCUMENT),
    )
    tools = [deployment.tool(table), deployment.tool(loud)]
    at_once(
        [
            *[change(crowd, loud, n) for n in range(60)],
            *[change(crowd, table, n) for n in range(5)],
            *[worker(crowd, deployment.queue) for _ in range(30)],
            *[crowd.orders["cleanup"] for _ in range(3)],
        ]
    )
    with deployment.parts.database.transaction() as tx:
        waiting = tx.run("SELECT key, count(*) FROM outbox WHERE begun_at IS NULL GROUP BY key")
    assert all(count == 1 for _, count in waiting)
    check(deployment, list(zip([table, loud], tools, strict=True)))


def test_creates_and_deletes_of_tools_changes_rebuilds_workers_and_cleanup(
    deployment: Deployment, crowd: ChaosParts, owner: Principal
) -> None:
    table = deployment.table(owner, DOCUMENT)
    kept = deployment.tool(table, "/a")
    deployment.work()
    delete_tool = crowd.orders["delete_tool"]
    doomed = [deployment.tool(table, SCOPES[n % len(SCOPES)]).id for n in range(20)]
    at_once(
        [
            *[create(crowd, table, SCOPES[n % len(SCOPES)]) for n in range(20)],
            *[partial(delete_tool, owner.project_id, tool) for tool in doomed],
            *[change(crowd, table, n) for n in range(10)],
            *[worker(crowd, deployment.queue) for _ in range(20)],
            *[lambda: crowd.orders["start_rebuild"](kept.id) for _ in range(3)],
            *[crowd.orders["cleanup"] for _ in range(5)],
        ]
    )
    check(deployment, [(table, kept)])


def test_a_table_is_deleted_while_it_is_indexed(
    deployment: Deployment, crowd: ChaosParts, owner: Principal
) -> None:
    tables = [deployment.table(owner, DOCUMENT) for _ in range(6)]
    tools = [deployment.tool(table) for table in tables]
    delete_table = crowd.orders["delete_table"]
    gone, (kept, *_) = tables[1:], tables
    at_once(
        [
            *[worker(crowd, deployment.queue) for _ in range(20)],
            *[partial(delete_table, owner.project_id, table.id) for table in gone],
            *[crowd.orders["cleanup"] for _ in range(5)],
        ]
    )
    assert [deployment.is_live(table) for table in tables] == [True, *[False] * 5]
    check(deployment, [(kept, tools[0])])


def test_messages_of_many_strings_are_carried_out_while_all_of_them_change(
    deployment: Deployment, crowd: ChaosParts, owner: Principal
) -> None:
    table = deployment.table(owner, [english(30, n) for n in range(60)])
    tool = deployment.tool(table)
    changes = [
        partial(
            crowd.orders["replace"],
            table.project_id,
            table.id,
            [english(30, 100 * turn + n) for n in range(60)],
        )
        for turn in range(1, 9)
    ]
    messages = [message for message in deployment.orders() if message["kind"] == "nodes"]
    assert messages
    again = [partial(_carried_out, crowd, message) for message in messages * 6]
    at_once([*changes, *again, *[worker(crowd, deployment.queue) for _ in range(4)]])
    check(deployment, [(table, tool)])


def _carried_out(parts: ChaosParts, message: MessageBody) -> None:
    with suppress(RetryLater):
        parts.handle(message)
