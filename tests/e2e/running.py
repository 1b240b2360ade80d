"""A running stack seen from outside: its API, its database, its queue, its turbopuffer."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Tool
from turbopuffer import NotFoundError, Turbopuffer

from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from local.options import ROOT, StackOptions
from local.queues import sqs_client
from local.reset import wipe
from local.stack import Stack
from local.state import State
from tests.builders import until

INDEXED_WITHIN_S = 60.0
# Shorter than a user's, so that nobody waits for what cleanup does.
PATIENCE = {"SILENT_AFTER_SECONDS": "4", "DELETE_GRACE_SECONDS": "4"}
Era = Literal["legacy", "2026-07-28"]
Answer = TypeVar("Answer")


def user_environment() -> dict[str, str]:
    """The environment of a user who has named no service of his own."""
    names = {"PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH"}
    kept = {name: value for name, value in os.environ.items() if name in names}  # noqa: TID251
    return kept | {"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}"}  # as make exports it


@contextmanager
def state_folder() -> Iterator[State]:
    """A folder for a stack, wiped afterwards; PostgreSQL's account can reach it also for root."""
    with tempfile.TemporaryDirectory(prefix="context-search-e2e-") as name:
        Path(name).chmod(0o711)
        state = State(Path(name) / "state")
        try:
            yield state
        finally:
            wipe(state)


@dataclass(frozen=True)
class Running:
    """Where a stack is, and looks behind its API."""

    base_url: str
    internal_secret: str = field(repr=False)
    database: Database
    queue_url: str
    turbopuffer: Turbopuffer
    http: httpx2.Client

    @classmethod
    @contextmanager
    def at(
        cls, base_url: str, internal_secret: str, database: str, queue: str, turbopuffer: str
    ) -> Iterator[Running]:
        """Connections to a stack, closed afterwards."""
        opened = Database(DatabaseUrl.parse(database), max_connections=4)
        with (
            Turbopuffer(api_key="local", base_url=turbopuffer, region=None) as client,
            httpx2.Client(base_url=base_url, timeout=60, trust_env=False) as http,
        ):
            try:
                yield cls(base_url, internal_secret, opened, queue, client, http)
            finally:
                opened.close()

    def project(self) -> Tenant:
        """A new project."""
        made = self.internally("POST", "/api/v1/projects", json={"name": "e2e"})
        assert made.status_code == 201, made.text
        return Tenant(self, made.json()["id"], made.json()["api_key"])

    def internally(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """One request with the internal secret."""
        headers = {"x-internal-secret": self.internal_secret}
        return self.http.request(method, path, headers=headers, **more)

    def sql(self, statement: str, **values: object) -> list[list[Any]]:
        """Rows of one statement."""
        with self.database.transaction() as tx:
            return tx.run(statement, **values)

    def send(self, *bodies: str) -> None:
        """Messages of somebody else's making."""
        client = sqs_client(self.queue_url.rsplit("/", 2)[0])
        for body in bodies:
            client.send_message(QueueUrl=self.queue_url, MessageBody=body)

    def documents(self, namespace: str) -> list[str]:
        """Ids of all documents in turbopuffer, in order; none when there is no namespace."""
        try:
            reply = self.turbopuffer.namespace(namespace).query(rank_by=("id", "asc"), limit=10_000)
        except NotFoundError:
            return []
        return [str(row.id) for row in reply.rows or []]

    def rows(self, namespace: str) -> list[str]:
        """The same, as the chunk rows in Postgres name them: every window of every chunk."""
        found = self.sql(
            "SELECT turbopuffer_doc_id, window_count FROM chunks"
            " WHERE turbopuffer_namespace = :name AND present",
            name=namespace,
        )
        return sorted(
            name
            for doc_id, windows in found
            for name in [doc_id, *[f"{doc_id}.w{number}" for number in range(1, windows)]]
        )


@contextmanager
def running_stack(options: StackOptions, **settings: str) -> Iterator[Running]:
    """The product with its local parts, silent, on free ports and a folder of its own."""
    user = {**user_environment(), **settings}
    with (
        state_folder() as state,
        Stack(state, user, options, report=lambda _: None) as started,
        Running.at(
            started.base_url,
            started.internal_secret,
            started.endpoints.database_url,
            started.endpoints.queue_url,
            started.endpoints.turbopuffer_url,
        ) as running,
    ):
        yield running


@dataclass(frozen=True)
class Tenant:
    """One project's view."""

    stack: Running
    project_id: int
    key: str = field(repr=False)

    def __call__(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """One request with the project's key."""
        headers = {"authorization": f"Bearer {self.key}"}
        return self.stack.http.request(method, path, headers=headers, **more)

    def table(self, data: object, **more: Any) -> int:
        """The id of a new table."""
        body = {"project_id": self.project_id, "name": "Library", "data": data, **more}
        made = self("POST", "/api/v1/tables", json=body)
        assert made.status_code == 201, made.text
        return int(made.json()["id"])

    def tool(self, table_id: int, **more: Any) -> dict[str, Any]:
        """A new Search Tool; its indexing goes on."""
        body = {
            "project_id": self.project_id,
            "table_id": table_id,
            "name": "search_library",
            **more,
        }
        made = self("POST", "/api/v1/tools/search", json=body)
        assert made.status_code == 201, made.text
        return dict(made.json())

    def mcp(self, *tool_ids: int, **more: Any) -> Tenant:
        """The view of an agent of a new MCP instance."""
        bindings = [{"tool_id": tool_id} for tool_id in tool_ids]
        body = {"project_id": self.project_id, "name": "Agents", "bindings": bindings, **more}
        made = self("POST", "/api/v1/mcps", json=body)
        assert made.status_code == 201, made.text
        return replace(self, key=made.json()["api_key"])

    def state(self, tool: dict[str, Any]) -> dict[str, Any]:
        """The counters of a tool's index."""
        read = self("GET", f"/api/v1/tools/{tool['tool_id']}/search-index")
        assert read.status_code == 200, read.text
        return dict(read.json())

    def ready(self, tool: dict[str, Any], within_s: float = INDEXED_WITHIN_S) -> dict[str, Any]:
        """Waits until a tool is ready; returns its counters."""

        def settled() -> dict[str, Any] | None:
            state = self.state(tool)
            assert state["status"] != "degraded", state
            return state if state["status"] == "ready" else None

        return until(settled, within_s, every_s=0.1)

    def search(self, tool: dict[str, Any], query: str, **more: Any) -> dict[str, Any]:
        """The answer of a search."""
        path = f"/api/v1/tools/{tool['tool_id']}/search"
        found = self("POST", path, json={"query": query, **more})
        assert found.status_code == 200, found.text
        return dict(found.json())

    def list_tools(self, era: Era) -> list[Tool]:
        """What an agent sees, by the official client."""

        async def listing(client: Client) -> list[Tool]:
            return (await client.list_tools()).tools

        return asyncio.run(self.as_agent(era, listing))

    def call_tool(self, era: Era, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """What an agent gets, by the official client."""

        async def calling(client: Client) -> CallToolResult:
            return await client.call_tool(name, arguments)

        return asyncio.run(self.as_agent(era, calling))

    async def as_agent(
        self, era: Era, conversation: Callable[[Client], Awaitable[Answer]]
    ) -> Answer:
        """Returns what comes of a conversation with the official client."""
        headers = {"authorization": f"Bearer {self.key}"}
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http_client:
            transport = streamable_http_client(
                f"{self.stack.base_url}/mcp", http_client=http_client
            )
            async with Client(transport, mode=era) as client:
                return await conversation(client)
