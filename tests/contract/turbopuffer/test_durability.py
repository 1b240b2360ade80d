"""What was acknowledged survives ``kill -9``."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from turbopuffer import APIConnectionError

from tests.contract.turbopuffer.targets import (
    LocalServer,
    Namespace,
    connected,
    found,
    ids,
    named,
    running,
)
from tests.stack import eventually

pytestmark = pytest.mark.stack

SCHEMA = {
    "text": {"type": "string", "full_text_search": True},
    "tags": "[]string",
    "half": "string",
    "vector": {"type": "[2]f32", "ann": True},
}


def test_documents_indexes_and_schema_survive(tmp_path: Path) -> None:
    with running(tmp_path) as server, connected(server) as client:
        namespace = named(client, "kept")
        for i in range(20):
            namespace.write(
                upsert_rows=[
                    {"id": i, "text": f"word{i} all", "tags": [f"t{i % 3}"], "vector": [1.0, i]}
                ],
                schema=SCHEMA,
                distance_metric="cosine_distance",
            )
        namespace.write(deletes=[3], upsert_rows=[{"id": 4, "text": "other", "vector": [1.0, 4]}])
        named(client, "dropped").write(upsert_rows=[{"id": 1}])
        named(client, "dropped").delete_all()
        before = answers(namespace)
        schema = namespace.schema()
        server.kill()
    with running(tmp_path) as server, connected(server) as client:
        namespace = named(client, "kept")
        assert answers(namespace) == before
        assert namespace.schema() == schema
        assert [n.id for n in client.namespaces()] == ["kept"]
        namespace.write(patch_rows=[{"id": 5, "half": "new"}])
        assert found(namespace, ("half", "Eq", "new")) == [5]


def answers(namespace: Namespace) -> list[list[object]]:
    everything = namespace.query(rank_by=("id", "asc"), limit=100, include_attributes=True)
    return [
        [row.model_dump() for row in everything.rows or []],
        ids(namespace.query(rank_by=("text", "BM25", "word7 all"), limit=100)),
        ids(namespace.query(rank_by=("vector", "ANN", [1.0, 7.5]), limit=100)),
        found(namespace, ("tags", "Contains", "t1")),
    ]


def test_a_stream_of_writes_that_is_cut_off_keeps_whole_requests(tmp_path: Path) -> None:
    acknowledged: list[int] = []
    size = 10

    def write_on(server: LocalServer) -> None:
        with connected(server, max_retries=0) as client:
            namespace = named(client, "stream")
            try:
                while True:
                    batch = len(acknowledged)
                    first = batch * size
                    namespace.write(
                        upsert_rows=[{"id": first + i, "batch": batch} for i in range(size)]
                    )
                    acknowledged.append(batch)
            except APIConnectionError:
                return

    with running(tmp_path) as server:
        writer = threading.Thread(target=write_on, args=(server,))
        writer.start()
        assert eventually(lambda: len(acknowledged) >= 25)
        server.kill()
        writer.join()
    with running(tmp_path) as server, connected(server) as client:
        namespace = named(client, "stream")
        answer = namespace.query(rank_by=("id", "asc"), limit=10_000)
        stored = len(ids(answer))
    assert ids(answer) == list(range(stored))
    # The last request may have been carried out without an answer, but never by half.
    assert stored in (len(acknowledged) * size, (len(acknowledged) + 1) * size)


def test_a_second_server_over_the_same_directory_does_not_start(tmp_path: Path) -> None:
    with running(tmp_path), pytest.raises(RuntimeError, match="before it listened"):
        LocalServer(tmp_path)


def test_a_server_that_is_told_to_stop_leaves_everything(tmp_path: Path) -> None:
    with running(tmp_path) as server, connected(server) as client:
        named(client, "stopped").write(upsert_rows=[{"id": i} for i in range(100)])
        server.stop()
    with running(tmp_path) as server, connected(server) as client:
        assert named(client, "stopped").query(aggregate_by={"n": ("Count",)}).aggregations == {
            "n": 100
        }
