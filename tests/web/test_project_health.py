"""How a project is, over HTTP: what waits, what failed, what is stored, when cleanup worked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from context_search.core.errors import EmbeddingUnavailableError
from context_search.integrations.ports import Deadline
from context_search.maintenance.rules.health import CleanupRun
from context_search.postgres.pool import Database
from context_search.web.app import http_app
from context_search.web.openapi import contract, every_router
from testing.in_memory.embedder import WordEmbedder
from tests.builders import english
from tests.web.api import Api, LocalParts, answer
from tests.web.in_process import client_of

DOCUMENT = {"a": english(300), "b": english(200, 2)}
NOTHING = {"code": "DOCUMENT_TOO_LARGE", "message": "m", "retryable": False}


def health(api: Api, **more: Any) -> dict[str, Any]:
    return answer(api("GET", f"/api/v1/projects/{api.project_id}/health", **more), 200)


def test_a_new_project_has_nothing(api: Api) -> None:
    reported = health(api)
    assert abs(datetime.fromisoformat(reported["at"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert (reported["nodes"], reported["oldest_wait_seconds"], reported["errors"]) == ({}, 0, [])
    assert reported["outbox"] == {"waiting": 0, "oldest_seconds": 0}
    nothing = {"chunks": 0, "vector_bytes": 0, "tables": 0, "document_bytes": 0, "tools": 0}
    assert reported["usage"] == {**nothing, "keys": 1, "mcps": 0}
    assert reported["limits"] == {
        "chunks": 5_000_000,
        "vector_bytes": 20_000_000_000,
        "tables": 20_000,
        "document_bytes": 20_000_000_000,
        "tools": 20_000,
        "keys": 1_000,
        "mcps": 1_000,
    }
    assert (reported["spent"], reported["daily_limits"]) == (
        [],
        {"embedding_tokens": None, "reranks": None},
    )
    assert reported["indexes"] == {"live": 0, "building": 0, "evicted": 0, "stalled": 0}
    assert (reported["integrity"], reported["row_security"]) == ([], True)


def test_what_waits_and_what_is_stored_is_counted(api: Api) -> None:
    tool = api.unindexed_tool(api.table(DOCUMENT))
    reported = health(api)
    assert reported["nodes"] == {"queued": 2}
    assert reported["indexes"] == {"live": 1, "building": 0, "evicted": 0, "stalled": 0}
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE node SET next_at = clock_timestamp() - interval '90 seconds'"
            " WHERE table_id = (SELECT tool.table_id FROM tool WHERE tool.id = :tool)"
            " AND json_pointer = '/a'",
            tool=tool["tool_id"],
        )
    assert 90 <= health(api)["oldest_wait_seconds"] < 200
    api.parts.work()
    reported = health(api)
    state = answer(api("GET", f"/api/v1/tools/{tool['tool_id']}/search-index"), 200)
    assert (reported["nodes"], reported["oldest_wait_seconds"]) == ({"indexed": 2}, 0)
    chunks = state["chunks_count"]
    usage, [today] = reported["usage"], reported["spent"]
    assert (usage["chunks"], usage["vector_bytes"]) == (chunks, 4 * 64 * chunks)
    assert (usage["tables"], usage["tools"], usage["keys"]) == (1, 1, 1)
    assert 500 < usage["document_bytes"] < 5_000
    assert today["day"] == datetime.fromisoformat(reported["at"]).date().isoformat()
    assert (today["embedding_tokens"] > 100, today["reranks"]) == (True, 0)


def test_an_order_that_is_not_in_the_queue_has_an_age(api: Api) -> None:
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "INSERT INTO outbox (project_id, body, created_at)"
            " VALUES (:project, '{}', clock_timestamp() - interval '190 seconds'),"
            " (:project, '{}', clock_timestamp())",
            project=api.project_id,
        )
    reported = health(api)
    assert reported["outbox"]["waiting"] == 2
    assert 190 <= reported["outbox"]["oldest_seconds"] < 400
    assert part(reported, "queue") == ("failing", "ORDERS_WAIT")
    with api.parts.postgres.database.transaction() as tx:
        tx.run("DELETE FROM outbox WHERE project_id = :project", project=api.project_id)


def test_errors_are_counted_by_their_code(api: Api) -> None:
    with api.parts.refusing():
        tool = api.tool(api.table(DOCUMENT))
    reported = health(api)
    assert reported["nodes"] == {"quarantined": 2}
    [error] = reported["errors"]
    assert (error["code"], error["count"]) == ("EMBEDDING_REJECTED", 2)
    assert error["latest_at"] <= reported["at"]
    with api.parts.store.for_all("test") as work:
        made = work.tools.find(tool["tool_id"], project_id=api.project_id)
        assert made is not None
        work.comparisons.note_refused(made.index_id, made.scope.table_id, NOTHING)
    assert [(each["code"], each["count"]) for each in health(api)["errors"]] == [
        ("EMBEDDING_REJECTED", 2),
        ("DOCUMENT_TOO_LARGE", 1),
    ]


def test_the_last_run_of_cleanup_is_told_without_ids(api: Api, parts: LocalParts) -> None:
    api.tool(api.table(DOCUMENT))
    deadline = Deadline(parts.clock, parts.clock.monotonic() + 120)
    report = parts.use_cases.scheduled_cleanup.run(deadline, may_idle=False)
    assert report.errors == []
    reported = health(api)
    assert reported["cleanup"] == {
        "at": reported["cleanup"]["at"],
        "seconds": reported["cleanup"]["seconds"],
        "is_complete": report.is_complete,
        "errors": [],
        "rests_until": None,
    }
    [compared] = [each for each in reported["integrity"] if each["checked"]]
    assert (compared["missing"], compared["orphans"], compared["repaired"]) == (0, 0, 0)
    assert health(api.stranger())["integrity"] == []


class AwayEmbedder(WordEmbedder):
    """A provider that is away."""

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:  # noqa: ARG002 - the port
        raise EmbeddingUnavailableError("away")


@contextmanager
def api_over(parts: LocalParts) -> Iterator[Api]:
    """A client of a new project over other parts."""
    with client_of(http_app(every_router(), parts.use_cases, contract=contract)) as http:
        yield Api.of_new_project(http, parts)


def part(reported: dict[str, Any], name: str) -> tuple[str, str | None]:
    [found] = [each for each in reported["parts"] if each["name"] == name]
    return found["state"], found["code"]


def cleaned(parts: LocalParts, at: datetime, *errors: str) -> None:
    """Notes a run of cleanup of 3 s that ended ``at`` a moment."""
    run = CleanupRun(at, 3.0, is_complete=not errors, errors=errors, rests_until=None)
    with parts.store.for_all("test") as work:
        work.health.note_cleanup(run)


def test_all_is_well_only_if_every_part_is(api: Api, parts: LocalParts) -> None:
    cleaned(parts, datetime.now(UTC))
    reported = health(api)
    assert [each["name"] for each in reported["parts"]] == [
        "database",
        "vector_store",
        "embedder",
        "queue",
        "indexes",
        "cleanup",
    ]
    assert {each["state"] for each in reported["parts"]} == {"ok"}
    assert reported["verdict"] == "ok"


def test_a_vector_store_and_a_model_that_fail_are_told(application_database: Database) -> None:
    broken = LocalParts(application_database, "http://127.0.0.1:9")
    broken._embedder = AwayEmbedder
    with api_over(broken) as api:
        reported = health(api)
    assert part(reported, "vector_store") == ("failing", "VECTOR_STORE_UNAVAILABLE")
    assert part(reported, "embedder") == ("failing", "EMBEDDING_UNAVAILABLE")
    assert (part(reported, "database"), reported["verdict"]) == (("ok", None), "failing")


def test_a_stalled_index_and_an_overdue_cleanup_are_told(
    application_database: Database, turbopuffer_url: str
) -> None:
    parts = LocalParts(application_database, turbopuffer_url)
    parts.settings = parts.settings.model_copy(update={"cleanup_schedule": "rate(1 minute)"})
    with api_over(parts) as api:
        check_stalled_and_overdue(api, parts)


def check_stalled_and_overdue(api: Api, parts: LocalParts) -> None:
    tool = api.unindexed_tool(api.table(DOCUMENT))
    cleaned(parts, datetime.now(UTC) - timedelta(seconds=150))
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE node SET next_at = clock_timestamp() - interval '190 seconds'"
            " WHERE table_id = (SELECT tool.table_id FROM tool WHERE tool.id = :tool)",
            tool=tool["tool_id"],
        )
    reported = health(api)
    assert part(reported, "indexes") == ("failing", "INDEX_STALLED")
    assert reported["indexes"]["stalled"] == 1
    assert part(reported, "cleanup") == ("failing", "CLEANUP_OVERDUE")
    assert reported["verdict"] == "failing"
    parts.work()
    cleaned(parts, datetime.now(UTC) - timedelta(seconds=110))
    assert health(api)["verdict"] == "ok"
    cleaned(parts, datetime.now(UTC), "VECTOR_STORE_TIMEOUT")
    assert part(health(api), "cleanup") == ("failing", "VECTOR_STORE_TIMEOUT")
