"""What callers are told while one of the parts is away, and that it is right again afterwards."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any

import httpx2
import jsonschema  # type: ignore[import-untyped]
import pytest
from fastapi import FastAPI

from context_search.agents.tools.search_tools import SEARCH_OUTPUT_SCHEMA
from context_search.composition.searching import Searching
from context_search.core.config import IndexConfig
from context_search.core.errors import (
    ContextSearchError,
    EmbeddingRejectedError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
    QueueUnavailableError,
)
from context_search.integrations.ports import Embedder, MessageBody
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search import Searcher
from context_search.web.app import http_app
from context_search.web.openapi import contract, every_router
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.queue import ListQueue
from testing.use_cases import EveryUseCase
from tests.builders import english, planted
from tests.contract.turbopuffer.faulty import Faults
from tests.steps import write_words
from tests.web.api import Api, LocalParts, answer, problem
from tests.web.in_process import client_of

DOCUMENT = {"a": planted(english(900), "The lighthouse keeper counted nine comets.", 400)}


class Queue(ListQueue):
    """A queue that can be away."""

    is_away = False

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        if self.is_away:
            raise QueueUnavailableError("away")
        return super().send(messages)


class Model(WordEmbedder):
    """A model that can fail at questions."""

    failure: ContextSearchError | None = None

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        if self.failure is not None:
            raise self.failure
        return super().embed_query(text, timeout_s=timeout_s)


class ImpatientSearching(Searching):
    """turbopuffer has little time."""

    @cached_property
    def searcher(self) -> Searcher:
        return replace(super().searcher, timeouts=Timeouts(vectors_s=0.4))


class ImpatientUseCases(EveryUseCase):
    """With searches for which turbopuffer has little time."""

    @cached_property
    def searching(self) -> ImpatientSearching:
        return ImpatientSearching(self.parts)


class WeakParts(LocalParts):
    """Parts of which any may be away."""

    @cached_property
    def queue(self) -> Queue:  # type: ignore[override]
        """See the base."""
        return Queue()

    @cached_property
    def moody_model(self) -> Model:
        return Model(64)

    @cached_property
    def use_cases(self) -> ImpatientUseCases:
        return ImpatientUseCases(self)

    def embedder_of(self, config: IndexConfig) -> Embedder:
        assert config.dimensions == self.moody_model.dimensions
        return self.moody_model


# A process for each test: its caches and circuit breakers remember what happened before.
@pytest.fixture
def parts(module_database: Database, turbopuffer_url: str) -> WeakParts:
    return WeakParts(module_database, turbopuffer_url)


@pytest.fixture
def http(parts: WeakParts) -> Iterator[httpx2.Client]:
    app = http_app(every_router(), parts.use_cases, contract=contract)
    with client_of(app) as client:
        yield client


@pytest.fixture
def model(parts: WeakParts) -> Iterator[Model]:
    yield parts.moody_model
    parts.moody_model.failure = None


@pytest.fixture
def queue(parts: WeakParts) -> Iterator[Queue]:
    yield parts.queue
    parts.queue.is_away = False


@pytest.fixture
def faults(turbopuffer_url: str) -> Iterator[Faults]:
    with httpx2.Client(base_url=turbopuffer_url) as http:
        board = Faults(http)
        yield board
        board.clear()


def ask(api: Api, tool: dict[str, Any]) -> httpx2.Response:
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    response = api("POST", path, json={"query": "comets"})
    if response.status_code == 200:
        # Agents get the same answer, and have been promised this shape also for bad days.
        jsonschema.Draft202012Validator(SEARCH_OUTPUT_SCHEMA).validate(response.json())
    return response


@pytest.mark.parametrize(
    ("failure", "word", "warning"),
    [
        (EmbeddingTimeoutError("late"), "embed_timeout", "SEARCH_TIMEOUT"),
        (
            EmbeddingUnavailableError("busy", retry_after_s=3),
            "embed_unavailable",
            "EMBEDDING_UNAVAILABLE",
        ),
        (EmbeddingRejectedError("no"), "embed_unavailable", "EMBEDDING_UNAVAILABLE"),
    ],
    ids=str,
)
def test_without_its_model_a_search_goes_on_with_words_and_says_so(
    api: Api, model: Model, failure: ContextSearchError, word: str, warning: str
) -> None:
    tool = api.tool(api.table(DOCUMENT))
    model.failure = failure
    found = answer(ask(api, tool), 200)
    assert found["retrieval"] == {
        "mode_requested": "hybrid",
        "mode_used": "keyword",
        "legs": ["keyword"],
        "degraded": [word],
        "warning": {"code": warning, "fallback": "fts"},
    }
    assert "comets" in found["results"][0]["chunk"]["chunk_text"]


def test_without_the_queue_nothing_is_refused_and_nothing_lost(
    api: Api, parts: WeakParts, queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    table = api.table(DOCUMENT)
    queue.is_away = True
    tool = api.tool(table)
    assert (tool["status"], queue.messages) == ("indexing", [])
    codes = [vars(one)["code"] for one in caplog.records if "orders wait" in one.message]
    assert codes == ["QUEUE_UNAVAILABLE"]
    path = f"/api/v1/tables/{table['id']}/data"
    assert api("PUT", path, params={"pointer": "/b"}, json=english(200)).status_code == 200
    assert api("DELETE", f"/api/v1/tools/{api.tool(table)['tool_id']}").status_code == 204
    queue.is_away = False
    with parts.postgres.database.transaction() as tx:  # as if cleanup came a minute later
        tx.run("UPDATE outbox SET claimed_until = NULL")
    assert parts.store.relay(silent_s=60) > 0
    parts.work()
    assert {hit["json_path"] for hit in api.search(tool, "harbour", top_k=20)["results"]} == {
        "/a",
        "/b",
    }


@pytest.mark.parametrize(
    ("kind", "options", "word", "warning"),
    [
        ("429", {"retry_after": 30}, "backend_unavailable", "VECTOR_STORE_UNAVAILABLE"),
        ("drop", {"count": 9}, "backend_unavailable", "VECTOR_STORE_UNAVAILABLE"),
        ("slow", {"delay_ms": 5_000, "count": 9}, "backend_timeout", "SEARCH_TIMEOUT"),
    ],
)
def test_without_turbopuffer_a_search_goes_on_with_words_and_says_so(
    api: Api,
    parts: WeakParts,
    faults: Faults,
    kind: str,
    options: dict[str, Any],
    word: str,
    warning: str,
) -> None:
    tool = api.tool(api.table(DOCUMENT))
    write_words(parts.store)
    faults.arm(kind, namespace=tool["namespace"], on="query", **options)
    found = answer(ask(api, tool), 200)
    assert found["retrieval"]["degraded"] == [word]
    assert found["retrieval"]["warning"] == {"code": warning, "fallback": "fts"}
    assert "comets" in found["results"][0]["chunk"]["chunk_text"]
    faults.clear()
    assert answer(ask(api, tool), 200)["retrieval"]["degraded"] == []


@pytest.fixture
def without_database(turbopuffer_url: str) -> Iterator[FastAPI]:
    nobody = Database(DatabaseUrl.parse("postgresql://u:canary-5f2c@127.0.0.1:9/db"))
    yield http_app(every_router(), LocalParts(nobody, turbopuffer_url).use_cases)
    nobody.close()


def test_readiness_tells_of_a_vector_store_that_is_away(module_database: Database) -> None:
    parts = LocalParts(module_database, "http://127.0.0.1:9")
    with client_of(http_app(every_router(), parts.use_cases)) as http:
        ready = answer(http.get("/readyz"), 200)
    assert ready["status"] == "degraded"
    assert [(part["name"], part["state"]) for part in ready["parts"]] == [
        ("database", "ok"),
        ("vector_store", "failing"),
        ("queue", "ok"),
    ]


@pytest.fixture
def silent() -> Iterator[tuple[str, int]]:
    """A part that accepts connections and never answers, as a stopped process does."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


def test_a_database_that_accepts_and_never_answers_is_told_within_seconds(
    silent: tuple[str, int], turbopuffer_url: str
) -> None:
    url = DatabaseUrl.parse(f"postgresql://u:p@{silent[0]}:{silent[1]}/db")
    database = Database(url)
    with client_of(
        http_app(every_router(), LocalParts(database, turbopuffer_url).use_cases)
    ) as http:
        began = time.monotonic()
        with ThreadPoolExecutor(4) as threads:
            every = list(threads.map(http.get, ["/readyz"] * 4))
        assert {each.status_code for each in every} == {503}
        assert time.monotonic() - began < 10  # all of them wait at once
    database.close()


@pytest.mark.parametrize("path", ["/readyz", "/api/v1/tables/1", "/api/v1/tools/1"])
def test_without_the_database_every_answer_is_a_503_to_try_again(
    without_database: FastAPI, path: str
) -> None:
    headers = {"authorization": "Bearer x"}
    with client_of(without_database) as http:
        body = problem(http.get(path, headers=headers), 503, "DATABASE_UNAVAILABLE")
        assert body["retryable"] is True
        assert http.get("/healthz").status_code == 200
