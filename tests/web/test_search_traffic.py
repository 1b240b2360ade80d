"""How often a search asks Postgres, and with how many statements: counted on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import pytest

from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from tests.builders import english, planted
from tests.postgres.relay import Relay
from tests.web.api import SMALL, Api, LocalParts

SENTENCE = "The lighthouse keeper counted nine comets."


class Traffic(NamedTuple):
    """Round trips, and statements, with those that only set limits."""

    round_trips: int
    statements: int


@pytest.fixture(scope="module")
def relay(application_url: DatabaseUrl) -> Iterator[Relay]:
    with Relay(application_url) as relay:
        yield relay


@pytest.fixture(scope="module")
def parts(relay: Relay, turbopuffer_url: str) -> Iterator[LocalParts]:
    database = Database(relay.url)
    yield LocalParts(database, turbopuffer_url)
    database.close()


def traffic(api: Api, relay: Relay, **config: object) -> Traffic:
    """What the third search of a tool sends to Postgres."""
    tool = api.tool(api.table({"a": planted(english(900), SENTENCE, 400)}), {**SMALL, **config})
    for _ in range(2):
        api.search(tool, "who counted comets")
    before = relay.requests, relay.statements
    assert api.search(tool, "how many comets")["results"]
    return Traffic(relay.requests - before[0], relay.statements - before[1])


@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "semantic"])
def test_a_search_asks_postgres_four_times(api: Api, relay: Relay, strategy: str) -> None:
    """Key; place in the project; places in the namespace; both back, tool, status and chunks."""
    assert traffic(api, relay, strategy=strategy) == Traffic(4, 12)


def test_keywords_in_postgres_are_asked_for_step_by_step(api: Api, relay: Relay) -> None:
    assert traffic(api, relay, strategy="keyword", storage="lean") == Traffic(7, 23)


def test_titles_of_an_explanation_are_one_statement(api: Api, relay: Relay) -> None:
    tool = api.tool(api.table([{"title": "t", "a": english(900)}] * 9))
    body, path = {"query": "harbour"}, f"/api/v1/tools/{tool['tool_id']}/search"

    def search(what: str) -> None:
        assert len(api("POST", f"{path}{what}", json=body).json()["results"]) == 5

    def one() -> None:
        with api.parts.store.for_project(api.project_id) as work:
            assert work.tables.count(api.project_id) == 1

    counted = []
    for ask in (partial(search, ""), partial(search, ""), partial(search, "/explain"), one):
        before = relay.requests, relay.statements
        ask()
        counted.append(Traffic(relay.requests - before[0], relay.statements - before[1]))
    _, plain, explained, more = counted
    assert explained.statements == plain.statements + more.statements
    assert explained.round_trips == plain.round_trips + more.round_trips
