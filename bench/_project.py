"""A project of its own in the local stack, and waiting for its indexes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx2

from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from local.stack import Stack

POLL_S = 0.5
STUCK_S = 300.0
LOADING_S = 5.0
COLD_S = 900.0


class BenchError(Exception):
    """A measurement that cannot go on; the message says what was waited for."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project, and a client with its key."""

    http: httpx2.Client
    project_id: int

    def post(self, route: str, **body: object) -> dict[str, Any]:
        """Returns the answer of a route; raises for any but a success."""
        response = self.http.post(route, json=body)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    def wait_until_ready(self, route: str, *, at_least: int = 0, stuck_s: float = STUCK_S) -> int:
        """Returns how many chunks an index has, once it is ready and has that many.

        Raises BenchError when nothing was indexed for ``stuck_s`` seconds.
        """
        most, grew_at = -1, time.monotonic()
        while True:
            response = self.http.get(route)
            state = response.json() if response.status_code == 200 else {}
            chunks = int(state.get("indexed_chunks_count") or 0)
            if state.get("status") == "ready" and chunks >= at_least:
                return chunks
            if chunks > most:
                most, grew_at = chunks, time.monotonic()
            if time.monotonic() - grew_at > stuck_s:
                reported = {name: state.get(name) for name in ("status", "last_error")}
                raise BenchError(
                    f"{route}: {chunks:,} chunks and no more for {stuck_s:g} s,"
                    f" last answer {response.status_code} {reported}"
                )
            time.sleep(POLL_S)

    def wait_until_warm(
        self, route: str, query: str, *, cold_s: float = COLD_S, pause_s: float = LOADING_S
    ) -> None:
        """Asks until a search is answered whole: a local turbopuffer reads a namespace for minutes.

        Raises BenchError after ``cold_s`` seconds, and at once for an answer that no waiting mends.
        """
        began = time.monotonic()
        while True:
            response = self.http.post(route, json={"query": query})
            if response.status_code < 500 and response.status_code != 429:
                response.raise_for_status()
                degraded = response.json()["retrieval"]["degraded"]
                if not degraded:
                    return
            else:
                degraded = []
            if time.monotonic() - began > cold_s:
                raise BenchError(
                    f"{route} is not warm after {cold_s:g} s,"
                    f" last answer {response.status_code} {degraded}"
                )
            time.sleep(pause_s)


def new_project(stack: Stack) -> tuple[Project, str]:
    """Returns a new project and its key."""
    http = httpx2.Client(base_url=stack.base_url, timeout=60)
    secret = {"x-internal-secret": stack.internal_secret}
    made = http.post("/api/v1/projects", headers=secret, json={"name": "bench"}).json()
    return known_project(stack, made["id"], made["api_key"]), made["api_key"]


def known_project(stack: Stack, project_id: int, key: str) -> Project:
    """Returns a project that was made before."""
    headers = {"authorization": f"Bearer {key}"}
    return Project(httpx2.Client(base_url=stack.base_url, timeout=60, headers=headers), project_id)


def new_table(stack: Stack, project: Project, document: str) -> int:
    """Returns the id of a new table with a JSON document, which may be larger than a request."""
    made = project.post("/api/v1/tables", project_id=project.project_id, name="bench", data={})
    database = Database(DatabaseUrl.parse(stack.endpoints.database_url))
    with database.transaction(statement_timeout_ms=0) as tx:
        statement = "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id"
        tx.run(statement, data=document, id=made["id"])
    database.close()
    return int(made["id"])
