"""A tool with a second opinion, from its creation to its answers; the provider is over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from context_search.postgres.pool import Database
from context_search.web.app import http_app
from context_search.web.openapi import every_router
from tests.integrations.rerank_server import NO_SCORES, RerankServer, by_words, opinions, set_answer
from tests.web.api import CANARY, SMALL, Api, LocalParts, answer, problem
from tests.web.in_process import client_of

MODEL, OTHER = "cohere/rerank-v3.5", "cohere/rerank-multilingual-v3.0"
ASKED = "comets of the harbour"
DOCUMENT = {
    "a": "The keeper of the harbour counted comets of the north until the morning came.",
    "b": "Comets of the harbour, comets of the harbour.",
}
# Long enough for every machine.
PATIENCE_MS = 20_000


class RerankingParts(LocalParts):
    """The deployed reranker; its provider is a server of this test."""

    def __init__(
        self, database: Database | None, turbopuffer_url: str, url: str, timeout_ms: int
    ) -> None:
        super().__init__(database, turbopuffer_url)
        given = {"rerank_models": (MODEL, OTHER), "rerank_api_base": url}
        self.settings = self.settings.model_copy(update={**given, "rerank_timeout_ms": timeout_ms})


@pytest.fixture(scope="module")
def provider() -> Iterator[tuple[RerankServer, str]]:
    server = RerankServer()
    with server.running() as url:
        yield server, url


@pytest.fixture(scope="module")
def parts(
    application_database: Database, turbopuffer_url: str, provider: tuple[RerankServer, str]
) -> RerankingParts:
    return RerankingParts(application_database, turbopuffer_url, provider[1], PATIENCE_MS)


@pytest.fixture
def server(provider: tuple[RerankServer, str]) -> Iterator[RerankServer]:
    """The provider, sound again after each test."""
    server = provider[0]
    server.requests.clear()
    yield server
    server.results, server.raw, server.status = by_words, None, 200
    server.answering.set()


def tool_of(api: Api, rerank: object, **config: Any) -> dict[str, Any]:
    return api.tool(api.table(DOCUMENT), {**SMALL, **config, "rerank": rerank})


def texts(found: dict[str, Any]) -> list[str]:
    return [hit["chunk"]["chunk_text"] for hit in found["results"]]


@pytest.mark.parametrize("model", ["cohere/rerank-v9", "in-memory/words", "https://evil.example"])
def test_a_model_that_the_deployment_does_not_have_is_refused(api: Api, model: str) -> None:
    body = {"project_id": api.project_id, "table_id": api.table(DOCUMENT)["id"], "name": "search"}
    body["search_config"] = {"rerank": {"model": model}}
    refused = problem(api("POST", "/api/v1/tools/search", json=body), 422, "INVALID_INPUT")
    assert refused["detail"].endswith(f"are: {MODEL}, {OTHER}")
    assert answer(api("GET", "/api/v1/tools"), 200)["tools"] == []


def test_the_question_and_the_first_texts_go_to_the_provider(
    api: Api, server: RerankServer
) -> None:
    tool = tool_of(api, {"model": MODEL, "blend": 1.0})
    found = api.search(tool, ASKED)
    assert texts(found) == [DOCUMENT["b"], DOCUMENT["a"]]
    assert found["retrieval"]["degraded"] == []
    [(body, authorization)] = server.requests
    assert (body["query"], sorted(body["documents"])) == (ASKED, sorted(DOCUMENT.values()))
    assert authorization == f"Bearer {CANARY}-reranker"
    read = answer(api("GET", f"/api/v1/tools/{tool['tool_id']}"), 200)["search_config"]["rerank"]
    assert read == {"model": MODEL, "candidates": 20, "blend": 1.0}


def test_an_explanation_shows_the_opinion_and_what_it_adds(api: Api, server: RerankServer) -> None:
    plain = tool_of(api, None)
    path = "/api/v1/tools/{}/search/explain"
    before = answer(api("POST", path.format(plain["tool_id"]), json={"query": ASKED}), 200)
    server.results = opinions((0, -2.0), (1, 3.0))
    tool = tool_of(api, {"model": MODEL, "blend": 0.25})
    reported = answer(api("POST", path.format(tool["tool_id"]), json={"query": ASKED}), 200)[
        "explain"
    ]
    assert reported["fusion"]["weights"]["reranker"] == 0.25
    assert "rerank" in reported["milliseconds"]
    by_pointer = {each["json_pointer"]: each for each in reported["candidates"]}
    candidates = before["explain"]["candidates"]
    for each, opinion in zip(candidates, [(-2.0, 0.0), (3.0, 0.25)], strict=True):
        now = by_pointer[each["json_pointer"]]
        assert now["opinion"] == opinion[0]
        assert now["parts"].get("reranker", 0.0) == opinion[1]
        assert now["score"] == pytest.approx(sum(now["parts"].values()), abs=5e-6)
        assert now["score"] == pytest.approx(0.75 * each["score"] + opinion[1], abs=2e-6)
    assert all("opinion" not in each for each in before["explain"]["candidates"])


def test_passages_for_a_prompt_are_in_the_order_of_the_opinion(
    api: Api, server: RerankServer
) -> None:
    tool = tool_of(api, {"model": MODEL, "blend": 1.0})
    path = f"/api/v1/tools/{tool['tool_id']}/retrieve"
    found = answer(api("POST", path, json={"query": ASKED, "min_score": 0}), 200)
    assert server.requests[0][0]["query"] == ASKED
    assert DOCUMENT["b"] in found["results"][0]["text"]


def test_a_search_of_the_project_asks_nobody(api: Api, server: RerankServer) -> None:
    tool_of(api, {"model": MODEL})
    answer(api("POST", f"/api/v1/projects/{api.project_id}/search-index", json={}), 202)
    api.parts.work()
    path = f"/api/v1/projects/{api.project_id}/search"
    assert answer(api("POST", path, json={"query": ASKED}), 200)["results"]
    assert server.requests == []


@pytest.fixture
def silent(application_database: Database, turbopuffer_url: str) -> Iterator[Api]:
    """A client of a deployment whose provider says nothing, and which waits 50 ms for it."""
    server = RerankServer()
    server.answering.clear()
    with server.running() as url:
        parts = RerankingParts(application_database, turbopuffer_url, url, 50)
        with client_of(http_app(every_router(), parts.use_cases)) as http:
            yield Api.of_new_project(http, parts)


def test_the_order_stays_when_the_provider_is_silent(silent: Api) -> None:
    table = silent.table(DOCUMENT)
    plain, tool = (
        silent.tool(table, {**SMALL, "rerank": rerank}) for rerank in (None, {"model": MODEL})
    )
    expected, found = silent.search(plain, ASKED), silent.search(tool, ASKED)
    assert found["results"] == expected["results"]
    assert found["retrieval"] == {**expected["retrieval"], "degraded": ["rerank_timeout"]}


def asks_in_vain(api: Api, word: str, fail: Callable[[], None]) -> None:
    """Searches with an opinion that does not come: but for the word all is as without one."""
    table = api.table(DOCUMENT)
    plain, tool, reset = (
        api.tool(table, {**SMALL, "rerank": rerank})
        for rerank in (None, {"model": MODEL}, {"model": MODEL, "blend": 0})
    )
    expected = api.search(plain, ASKED)
    assert api.search(reset, ASKED) == expected  # and no breaker is about to open
    fail()
    found = api.search(tool, ASKED)
    assert found["results"] == expected["results"]
    assert found["retrieval"] == {**expected["retrieval"], "degraded": [word]}


@pytest.mark.parametrize("said", NO_SCORES.values(), ids=NO_SCORES)
def test_the_order_stays_when_the_answer_is_no_opinion(
    api: Api, server: RerankServer, said: Any
) -> None:
    asks_in_vain(api, "rerank_unavailable", lambda: set_answer(server, said))
    assert len(server.requests) == 2


def test_a_model_that_the_deployment_has_no_more_gives_no_opinion(
    api: Api, server: RerankServer, parts: RerankingParts
) -> None:
    tool = tool_of(api, {"model": OTHER})
    had = parts.settings
    parts.settings = had.model_copy(update={"rerank_models": (MODEL,)})
    try:
        found = api.search(tool, ASKED)
    finally:
        parts.settings = had
    assert found["retrieval"]["degraded"] == ["rerank_unavailable"]
    assert (len(found["results"]), server.requests) == (2, [])
