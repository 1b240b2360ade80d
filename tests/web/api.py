"""A client of the API, and the parts behind it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import httpx2

from context_search.composition.parts import Parts
from context_search.core.config import IndexConfig
from context_search.core.errors import EmbeddingRejectedError
from context_search.core.messages import MESSAGE_ID, message_from_json
from context_search.integrations.ports import Deadline, Embedder, MessageBody
from context_search.postgres.pool import Database
from context_search.settings import Settings
from context_search.store import PostgresStore
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.objects import DictObjects
from testing.in_memory.queue import ListQueue
from testing.use_cases import EveryUseCase

CANARY = "canary-5f2c"
SECRET = f"{CANARY}-internal-of-32-characters"
OLD_SECRET = f"{CANARY}-before-the-last-rotation"
SMALL = {"chunk_threshold": 20, "chunk_size": 100, "chunk_overlap": 10}
PROBLEM = "application/problem+json"
# They log what the test client asks, which no function ever does.
_CLIENT_LOGGERS = ("httpx", "httpcore", "asyncio")


class RefusingEmbedder(WordEmbedder):
    """A provider that refuses every passage."""

    def embed_passages(
        self,
        texts: Sequence[str],  # noqa: ARG002 - of the port
        *,
        timeout_s: float,  # noqa: ARG002 - of the port
    ) -> list[list[float]]:
        raise EmbeddingRejectedError("the provider refuses this")


class LocalQueue(ListQueue):
    """A queue none of whose messages was ever received too often."""

    def take_up(self, limit: int, keep: Callable[[Sequence[MessageBody]], None]) -> int:
        """The port ``DeadLetters``."""
        del limit, keep
        return 0


class LocalParts(Parts):
    """The deployed parts, with a queue and a model that need no other process."""

    def __init__(self, database: Database | None = None, turbopuffer_url: str = "") -> None:
        super().__init__(
            Settings(
                database_url="postgresql://unused@127.0.0.1/unused",
                queue_url="",
                dead_letter_queue_url="",
                turbopuffer_api_key=f"{CANARY}-turbopuffer",
                turbopuffer_base_url=turbopuffer_url,
                embedding_model="in-memory/words",
                embedding_dimensions=64,
                embedding_api_key=f"{CANARY}-model",
                rerank_api_key=f"{CANARY}-reranker",
                internal_secret=SECRET,
                internal_secret_previous=OLD_SECRET,
                query_hash_key=f"{CANARY}-hash-of-32-characters-or-more",
            )
        )
        self.settings = self.settings.model_copy(update={"rerank_models": ("in-memory/words",)})
        self._database = database
        self._embedder: type[WordEmbedder] = WordEmbedder

    @cached_property
    def postgres(self) -> PostgresStore:
        """The test's database, or one that nobody reaches."""
        return PostgresStore(self._database) if self._database else super().postgres

    @cached_property
    def queue(self) -> LocalQueue:  # type: ignore[override]
        """A queue that this test empties itself."""
        return LocalQueue()

    @cached_property
    def objects(self) -> DictObjects:
        """An S3 that a test fills itself."""
        return DictObjects()

    @cached_property
    def patient_postgres(self) -> PostgresStore:
        """The test's database."""
        return self.postgres

    @cached_property
    def use_cases(self) -> EveryUseCase:
        """What all functions do with these parts."""
        return EveryUseCase(self)

    def embedder_of(self, config: IndexConfig) -> Embedder:
        """Vectors from words."""
        return self._embedder(config.dimensions)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """The provider refuses every passage meanwhile."""
        self._embedder = RefusingEmbedder
        try:
            yield
        finally:
            self._embedder = WordEmbedder

    def work(self) -> None:
        """Handles every message that waits."""
        while self.queue.messages:
            self.work_once()

    def work_once(self) -> None:
        """Handles the message that waits for the longest time."""
        body = self.queue.messages.pop(0)
        message = message_from_json(body)
        assert message is not None
        deadline = Deadline(self.clock, self.clock.monotonic() + 120)
        done = self.use_cases.worker.execute(
            message, deadline, message_id=int(str(body[MESSAGE_ID]))
        )
        if done.error is not None:
            raise done.error


@dataclass
class Api:
    """One project's view of the API. A call without ``key`` carries the project's."""

    http: httpx2.Client
    parts: LocalParts
    project_id: int = 0
    key: str = field(default="", repr=False)

    @classmethod
    def of_new_project(cls, http: httpx2.Client, parts: LocalParts) -> Api:
        """A client with a project that it makes over HTTP."""
        api = cls(http, parts)
        made = api.internally("POST", "/api/v1/projects", json={"name": "test"}).json()
        api.project_id, api.key = made["id"], made["api_key"]
        return api

    @property
    def project(self) -> str:
        """The path of the project."""
        return f"/api/v1/projects/{self.project_id}"

    def stranger(self) -> Api:
        """The same API seen by another project."""
        return Api.of_new_project(self.http, self.parts)

    def __call__(
        self, method: str, path: str, *, key: str | None = None, **more: Any
    ) -> httpx2.Response:
        """One request with a bearer key; bytes are said to be JSON."""
        headers = {"authorization": f"Bearer {self.key if key is None else key}"}
        if "content" in more:
            headers["content-type"] = "application/json"
        headers |= more.pop("headers", {})
        return self.http.request(method, path, headers=headers, **more)

    def internally(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """One request of a trusted service."""
        return self.http.request(method, path, headers={"x-internal-secret": SECRET}, **more)

    def table(self, data: object, **more: Any) -> dict[str, Any]:
        """A new table."""
        body = {"project_id": self.project_id, "name": "table", "data": data, **more}
        return answer(self("POST", "/api/v1/tables", json=body), 201)

    def tool(self, table: dict[str, Any], config: object = None, **more: Any) -> dict[str, Any]:
        """A new Search Tool over a table, indexed; strings of 20 characters count."""
        made = self.unindexed_tool(table, config, **more)
        self.parts.work()
        return made

    def unindexed_tool(
        self, table: dict[str, Any], config: object = None, **more: Any
    ) -> dict[str, Any]:
        """The same as it is answered, before anything was indexed."""
        body = {"project_id": self.project_id, "table_id": table["id"], "name": "search"}
        body |= {"search_config": config or SMALL, **more}
        return answer(self("POST", "/api/v1/tools/search", json=body), 201)

    def tool_of_every_string(self, table: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A tool, unindexed, that also returns the shortest strings; ``where`` may hide some."""
        config = {**SMALL, "chunk_threshold": 1, **more.pop("config", {})}
        return self.unindexed_tool(table, config, **more)

    def new_key(self, **body: Any) -> dict[str, Any]:
        """A further key of the project."""
        return answer(self("POST", f"{self.project}/keys", json=body), 201)

    def mcp(self, *tools: dict[str, Any], **body: Any) -> dict[str, Any]:
        """A new MCP instance with tools in it."""
        bindings = [{"tool_id": tool["tool_id"]} for tool in tools]
        body = {"project_id": self.project_id, "name": "agents", "bindings": bindings, **body}
        return answer(self("POST", "/api/v1/mcps", json=body), 201)

    def search(self, tool: dict[str, Any], query: str, **more: Any) -> dict[str, Any]:
        """The answer of a search."""
        path = f"/api/v1/tools/{tool['tool_id']}/search"
        return answer(self("POST", path, json={"query": query, **more}), 200)


def answer(response: httpx2.Response, status: int) -> dict[str, Any]:
    """The JSON of a response with that status."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body: dict[str, Any] = response.json()
    return body


def problem(response: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """The body of a problem, checked for the form of RFC 9457 and for what it must not say."""
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM)
    body: dict[str, Any] = response.json()
    assert (body["status"], body["code"], body["type"]) == (status, code, "about:blank")
    assert body["title"]
    assert body["detail"] not in ("", code)
    assert isinstance(body["retryable"], bool)
    assert body.pop("requestId") == response.headers["x-request-id"]
    assert CANARY not in response.text
    assert ("www-authenticate" in response.headers) == (status == 401)
    return body


def lifetime_s(key: Mapping[str, Any]) -> float:
    """How long a key is good for, from its beginning."""
    ends, begins = (datetime.fromisoformat(key[at]) for at in ("expires_at", "created_at"))
    return (ends - begins).total_seconds()


def exposed(records: list[logging.LogRecord]) -> str:
    """Everything that any handler could write of these records."""
    form = logging.Formatter()
    return "\n".join(
        f"{form.format(record)} {record.__dict__!r}"
        for record in records
        if not record.name.startswith(_CLIENT_LOGGERS)
    )
