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
    upsert,
)
from tests.stack import eventually

pytestmark = pytest.mark.stack


def test_documents_indexes_and_schema_survive(tmp_path: Path) -> None:
    with running(tmp_path) as server, connected(server) as client:
        namespace = named(client, "kept")
        for i in range(20):
            row = {"id": f"{i:02}", "content": [f"word{i}", "all"], "tags": [f"t{i % 3}"], "n": i}
            upsert(namespace, row | {"vector": [1.0, float(i)]})
        namespace.write(
            deletes=["03"], upsert_rows=[{"id": "04", "content": ["other"], "vector": [1.0, 4.0]}]
        )
        upsert(named(client, "dropped"), {"id": "1"})
        named(client, "dropped").delete_all()
        named(client, "far").write(
            upsert_rows=[{"id": "1", "vector": [3.0, 0.0]}],
            schema={"vector": {"type": "[2]f32", "ann": True}},
            distance_metric="euclidean_squared",
        )
        before = answers(namespace)
        schema = namespace.schema()
        server.kill()
    with running(tmp_path) as server, connected(server) as client:
        namespace = named(client, "kept")
        assert answers(namespace) == before
        assert namespace.schema() == schema
        assert [n.id for n in client.namespaces()] == ["far", "kept"]
        far = named(client, "far").query(rank_by=("vector", "ANN", [0.0, 0.0]), limit=1)
        assert [row["$dist"] for row in far.rows or []] == [9.0]
        upsert(namespace, {"id": "05", "n": 99})
        assert found(namespace, ("n", "In", [5, 99])) == ["05"]


def answers(namespace: Namespace) -> list[list[object]]:
    everything = namespace.query(rank_by=("id", "asc"), limit=100, include_attributes=True)
    return [
        [row.model_dump() for row in everything.rows or []],
        ids(namespace.query(rank_by=("content", "BM25", ["word7", "all"]), limit=100)),
        ids(namespace.query(rank_by=("vector", "ANN", [1.0, 7.5]), limit=100)),
        found(namespace, ("tags", "Contains", "t1")),
        found(namespace, ("n", "In", [1, 2, 3])),
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
                    upsert(namespace, *({"id": f"{first + i:06}"} for i in range(size)))
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
    assert ids(answer) == [f"{i:06}" for i in range(stored)]
    # The last request may have been carried out without an answer, but never by half.
    assert stored in (len(acknowledged) * size, (len(acknowledged) + 1) * size)


def test_a_second_server_over_the_same_directory_does_not_start(tmp_path: Path) -> None:
    with running(tmp_path), pytest.raises(RuntimeError, match="before it listened"):
        LocalServer(tmp_path)
