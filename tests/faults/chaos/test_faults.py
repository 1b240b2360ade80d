"""turbopuffer and the embedding provider fail in every way that they know, while indexing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from context_search.core.callers import Principal
from context_search.indexing.node_report import NodeReport, RetryLater
from context_search.integrations.models.openai_embedder import OpenAiEmbedder, Route
from testing.in_memory.embedder import WordEmbedder
from tests.builders import until
from tests.contract.turbopuffer.faulty import Faults
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import DOCUMENT, EDITED, LONG, Place, check, indexed
from tests.faults.chaos.parts import DIMENSIONS, KEY, LEASE_S, ChaosParts
from tests.integrations.openai_server import OpenAiServer
from tests.integrations.scripted_embeddings import item

TRIES_OF_THE_SDK = 3


class WordServer(OpenAiServer):
    """OpenAI's route with the vectors of ``WordEmbedder``; ``spoil`` cuts or shortens them."""

    def __init__(self) -> None:
        super().__init__()
        self.spoil: str | None = None

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.status != 200:
            return super().reply(body)
        vectors = WordEmbedder(DIMENSIONS).embed_passages(body["input"], timeout_s=1)
        if self.spoil == "dimension":
            vectors = [vector[1:] for vector in vectors]
        if self.spoil == "count":
            vectors = vectors[1:]
        data = [item(index, vector) for index, vector in enumerate(vectors)]
        return {"object": "list", "data": data, "model": body["model"]}


@pytest.fixture(scope="module")
def provider(deployment: Deployment) -> Iterator[WordServer]:
    """The provider that the site embeds with, over HTTP."""
    server = WordServer()
    with server.running() as url:
        route = Route.of("openai/words", url, has_key=True)
        assert route is not None
        deployment.parts.embedder = OpenAiEmbedder(
            "openai/words", DIMENSIONS, route=route, api_key=KEY
        )
        yield server
        deployment.parts.embedder = None


def queued(deployment: Deployment, owner: Principal) -> tuple[Place, int]:
    """A table whose one string waits for a worker."""
    table = deployment.table(owner, {"a": LONG})
    tool = deployment.tool(table)
    [message] = deployment.orders()
    return (table, tool), int(str(message["node_id"]))


def outcome(parts: ChaosParts, node_id: int) -> NodeReport:
    """What a worker says about a node that it was ordered to index."""
    try:
        return parts.use_cases.indexer.index_one(node_id, parts.in_time())
    except RetryLater as later:
        return later.report or NodeReport("nothing_to_do")


@pytest.mark.parametrize("kind", ["429", "503", "drop", "drop_after"])
def test_a_failing_turbopuffer_delays_a_string_and_doubles_nothing(
    deployment: Deployment, owner: Principal, faults: Faults, kind: str
) -> None:
    place, node_id = queued(deployment, owner)
    faults.arm(kind, on="write", count=TRIES_OF_THE_SDK)
    report = outcome(deployment.parts, node_id)
    assert report.outcome == "retried"
    assert report.error is not None
    assert report.error.code == "VECTOR_STORE_UNAVAILABLE"
    assert faults.armed() == []
    check(deployment, [place])


def test_a_pause_that_turbopuffer_asks_for_is_kept(
    deployment: Deployment, owner: Principal, faults: Faults
) -> None:
    place, node_id = queued(deployment, owner)
    faults.arm("429", on="write", retry_after=2.5)
    with pytest.raises(RetryLater) as later:
        deployment.parts.use_cases.indexer.index_one(node_id, deployment.parts.in_time())
    assert later.value.after_s == 2.5
    check(deployment, [place])


def test_a_write_slower_than_the_lease_is_taken_over_and_its_worker_writes_nothing_more(
    deployment: Deployment, owner: Principal, faults: Faults
) -> None:
    place, node_id = queued(deployment, owner)
    reports: list[NodeReport] = []
    faults.arm("slow", on="write", delay_ms=int(LEASE_S * 3_000))
    slow = threading.Thread(target=lambda: reports.append(outcome(deployment.parts, node_id)))
    slow.start()

    def is_taken_over() -> bool:
        report = deployment.parts.use_cases.indexer.index_one(node_id, deployment.parts.in_time())
        return report.outcome == "indexed"

    until(lambda: faults.armed() == [])
    until(is_taken_over)
    slow.join()
    assert [report.outcome for report in reports] == ["nothing_to_do"]
    check(deployment, [place])


def test_cleanup_gets_over_a_turbopuffer_that_fails_again_and_again(
    deployment: Deployment, owner: Principal, faults: Faults
) -> None:
    kept, (gone, _) = indexed(deployment, owner), indexed(deployment, owner)
    deployment.parts.use_cases.tables.delete(owner, gone.id)
    deployment.replace(kept[0], {"a": EDITED})
    for kind in ("503", "drop", "drop_after", "429"):
        faults.arm(kind, count=TRIES_OF_THE_SDK)
    errors: list[str] = []

    def is_over() -> bool:
        errors.extend(deployment.parts.use_cases.cleanup.run(deployment.parts.in_time()).errors)
        deployment.work()
        return faults.armed() == []

    until(is_over, 40)
    assert errors
    check(deployment, [kept])


@pytest.mark.parametrize(
    ("status", "headers", "retry_in_s"), [(500, {}, 2.0), (429, {"retry-after": "1.5"}, 1.5)]
)
def test_a_failing_provider_delays_a_string_for_as_long_as_it_says(
    deployment: Deployment,
    owner: Principal,
    provider: WordServer,
    status: int,
    headers: dict[str, str],
    retry_in_s: float,
) -> None:
    place, node_id = queued(deployment, owner)
    provider.status, provider.headers = status, headers
    with pytest.raises(RetryLater) as later:
        deployment.parts.use_cases.indexer.index_one(node_id, deployment.parts.in_time())
    assert later.value.after_s == retry_in_s
    provider.status, provider.headers = 200, {}
    check(deployment, [place])


@pytest.mark.parametrize("spoil", ["dimension", "count"])
def test_wrong_vectors_are_put_aside_and_what_was_searchable_stays(
    deployment: Deployment, owner: Principal, provider: WordServer, spoil: str
) -> None:
    table, tool = indexed(deployment, owner)
    namespace = deployment.index(tool).generation.namespace
    before = deployment.parts.vectors.ids_after(namespace, "", 100)
    deployment.replace(table, DOCUMENT | {"a": EDITED})
    deployment.orders()
    deployment.parts.use_cases.comparer.compare(tool.index_id)
    [message] = deployment.orders()
    provider.spoil = spoil
    report = outcome(deployment.parts, int(str(message["node_id"])))
    provider.spoil = None
    assert report.outcome == "quarantined"
    assert report.error is not None
    assert report.error.code == "EMBEDDING_DIMENSION_MISMATCH"
    assert set(before) <= set(deployment.parts.vectors.ids_after(namespace, "", 100))
    status = deployment.parts.use_cases.tools.wait_for_index.status(tool.id, owner, timeout_s=0)
    assert status.progress.status == "degraded"
    with deployment.parts.store.for_all("test") as work:
        work.nodes.requeue_quarantined(limit=10)
    check(deployment, [(table, tool)])
