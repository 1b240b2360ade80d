"""Writes and queries at the same time."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
from turbopuffer import AsyncTurbopuffer

from local.turbopuffer import create_app
from tests.contract.turbopuffer.targets import KEY, LOCAL_URL, Namespace, ids


def test_a_query_sees_all_of_a_write_or_nothing(namespace: Namespace) -> None:
    versions, pair = 40, (1, 2)

    def write() -> None:
        for version in range(1, versions):
            namespace.write(upsert_rows=[{"id": i, "version": version} for i in pair])

    namespace.write(upsert_rows=[{"id": i, "version": 0} for i in pair])
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        while not writing.done():
            rows = namespace.query(rank_by=("id", "asc"), limit=9, include_attributes=True).rows
            assert len({row["version"] for row in rows or []}) == 1
            assert len(rows or []) == len(pair)
    writing.result()


def test_both_queries_of_a_multi_query_see_the_same_moment(namespace: Namespace) -> None:
    query = {"rank_by": ("id", "asc"), "limit": 100}

    def write() -> None:
        for identity in range(2, 40):
            namespace.write(upsert_rows=[{"id": identity}])

    namespace.write(upsert_rows=[{"id": 1}])
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        while not writing.done():
            first, second = namespace.multi_query(queries=[query, query]).results
            assert ids(first) == ids(second)
    writing.result()


def test_many_first_writes_make_one_namespace(namespace: Namespace) -> None:
    with ThreadPoolExecutor(8) as threads:
        for answer in [
            threads.submit(namespace.write, upsert_rows=[{"id": i, f"a{i % 4}": "x"}])
            for i in range(32)
        ]:
            assert answer.result().rows_upserted == 1
    assert ids(namespace.query(rank_by=("id", "asc"), limit=100)) == list(range(32))
    assert set(namespace.schema()) == {"id", "a0", "a1", "a2", "a3"}


def test_the_application_also_runs_inside_another_program(tmp_path: Path) -> None:
    async def write_and_query() -> list[object]:
        app = create_app(tmp_path)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http,
            AsyncTurbopuffer(
                api_key=KEY, base_url=LOCAL_URL, region="local", http_client=http
            ) as client,
        ):
            namespace = client.namespace("embedded")
            await namespace.write(upsert_rows=[{"id": 1}])
            return ids(await namespace.query(rank_by=("id", "asc"), limit=9))

    assert asyncio.run(write_and_query()) == [1]
