"""What several warm processes remember of a tool, and that they never serve what it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.web.app import http_app
from context_search.web.openapi import every_router
from tests.builders import english, planted
from tests.web.api import Api, LocalParts, answer, problem
from tests.web.in_process import client_of

DOCUMENT = {
    "a": planted(english(900), "The keeper counted nine comets.", 400),
    "b": planted(english(900, 2), "Nine comets came back.", 300),
}
WARM = 3


@pytest.fixture
def owner(owner_url: DatabaseUrl) -> Iterator[Database]:
    """Somebody with plain SQL."""
    opened = Database(owner_url)
    yield opened
    opened.close()


class Processes:
    """Warm processes over one database, and a tool that each of them has searched."""

    def __init__(self, clients: list[httpx2.Client], api: Api, config: object = None) -> None:
        self.clients, self.api = clients, api
        self.table = api.table(DOCUMENT)
        self.tool = api.tool(self.table, config)
        assert self.paths() == [{"/a", "/b"}] * WARM

    def ask(self, client: httpx2.Client, query: str = "nine comets") -> httpx2.Response:
        path = f"/api/v1/tools/{self.tool['tool_id']}/search"
        return Api(client, self.api.parts, key=self.api.key)(
            "POST", path, json={"query": query, "top_k": 20}
        )

    def paths(self) -> list[set[str]]:
        """Where each process finds something."""
        answers = [answer(self.ask(client), 200) for client in self.clients]
        return [{hit["chunk"]["json_pointer"] for hit in each["results"]} for each in answers]

    def all_say_it_is_missing(self) -> None:
        for client in self.clients:
            problem(self.ask(client), 404, "NOT_FOUND")


@pytest.fixture
def clients(application_database: Database, turbopuffer_url: str) -> Iterator[list[httpx2.Client]]:
    with ExitStack() as stack:
        parts = [LocalParts(application_database, turbopuffer_url) for _ in range(WARM)]
        apps = [http_app(every_router(), each.use_cases) for each in parts]
        yield [stack.enter_context(client_of(app)) for app in apps]


@pytest.fixture
def warm(clients: list[httpx2.Client], api: Api) -> Processes:
    return Processes(clients, api)


def test_a_tool_that_is_deleted_in_one_process_is_missing_in_all(warm: Processes) -> None:
    tool = f"/api/v1/tools/{warm.tool['tool_id']}"
    assert Api(warm.clients[0], warm.api.parts, key=warm.api.key)("DELETE", tool).status_code == 204
    warm.all_say_it_is_missing()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tool SET deleted_at = now() WHERE id = :tool RETURNING 1",
        "DELETE FROM tool WHERE id = :tool RETURNING 1",
        "UPDATE context_table SET deleted_at = now() WHERE id = :table RETURNING 1",
        "DELETE FROM context_table WHERE id = :table RETURNING 1",
    ],
)
def test_a_tool_that_plain_sql_takes_away_is_missing_in_all(
    warm: Processes, owner: Database, statement: str
) -> None:
    with owner.transaction() as tx:
        ids = {"tool": warm.tool["tool_id"], "table": warm.table["id"]}
        named = {name: value for name, value in ids.items() if f":{name}" in statement}
        assert tx.run(statement, **named) == [[1]]
    warm.all_say_it_is_missing()


def test_a_scope_that_plain_sql_moves_is_searched_whole_at_once(
    warm: Processes, owner: Database
) -> None:
    def move(scope: str) -> None:
        with owner.transaction() as tx:
            moved = "UPDATE coverage SET scope = :scope WHERE tool_id = :tool RETURNING 1"
            assert tx.run(moved, scope=scope, tool=warm.tool["tool_id"]) == [[1]]

    move("/a")
    assert warm.paths() == [{"/a"}] * WARM
    move("/b")
    assert warm.paths() == [{"/b"}] * WARM
    move("")
    assert warm.paths() == [{"/a", "/b"}] * WARM


def test_another_strategy_holds_at_once(warm: Processes, owner: Database) -> None:
    with owner.transaction() as tx:
        tx.run(
            """
            UPDATE tool SET search_config = search_config || '{"strategy": "keyword"}'
            WHERE id = :tool RETURNING 1
            """,
            tool=warm.tool["tool_id"],
        )
    for client in warm.clients:
        reported: dict[str, Any] = answer(warm.ask(client), 200)["retrieval"]
        assert (reported["mode_requested"], reported["mode_used"]) == ("keyword", "keyword")


def test_an_index_that_was_switched_elsewhere_is_the_new_one_in_all(warm: Processes) -> None:
    path = f"/internal/tools/{warm.tool['tool_id']}/chunks/rebuild"
    assert warm.api.internally("POST", path, json={}).status_code == 202
    warm.api.parts.work()
    for client in warm.clients:
        hits = answer(warm.ask(client), 200)["results"]
        assert {hit["chunk"]["turbopuffer_namespace"][-3:] for hit in hits} == {"_g2"}
