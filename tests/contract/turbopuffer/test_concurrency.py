"""Writes and queries at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.contract.turbopuffer.targets import Namespace, ids, upsert


def test_a_query_sees_all_of_a_write_or_nothing(namespace: Namespace) -> None:
    versions, pair = 40, ("a", "b")

    def write(version: int) -> None:
        upsert(namespace, *({"id": one, "n": version} for one in pair))

    def write_on() -> None:
        for version in range(1, versions):
            write(version)

    write(0)
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write_on)
        while not writing.done():
            rows = namespace.query(rank_by=("id", "asc"), limit=9, include_attributes=True).rows
            assert len({row["n"] for row in rows or []}) == 1
            assert len(rows or []) == len(pair)
    writing.result()


def test_both_queries_of_a_multi_query_see_the_same_moment(namespace: Namespace) -> None:
    query = {"rank_by": ("id", "asc"), "limit": 100}

    def write() -> None:
        for number in range(2, 40):
            upsert(namespace, {"id": str(number)})

    upsert(namespace, {"id": "1"})
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        while not writing.done():
            first, second = namespace.multi_query(queries=[query, query]).results
            assert ids(first) == ids(second)
    writing.result()


def test_many_first_writes_make_one_namespace(namespace: Namespace) -> None:
    with ThreadPoolExecutor(8) as threads:
        for answer in [threads.submit(upsert, namespace, {"id": f"{i:02}"}) for i in range(32)]:
            assert answer.result().rows_upserted == 1
    everything = namespace.query(rank_by=("id", "asc"), limit=100)
    assert ids(everything) == [f"{i:02}" for i in range(32)]
