"""BM25: order against a reference, ready tokens, weighted sums."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.contract.turbopuffer.reference import bm25_order
from tests.contract.turbopuffer.targets import SCHEMA, Namespace, Target, ids, upsert


def ranked(namespace: Namespace, rank_by: Any, **more: Any) -> list[Any]:
    return ids(namespace.query(rank_by=rank_by, limit=100, **more))


def write(namespace: Namespace, documents: dict[str, list[str]]) -> None:
    upsert(namespace, *({"id": name, "content": tokens} for name, tokens in documents.items()))


def corpus(seed: int) -> dict[str, list[str]]:
    """Documents of unlike lengths over a small vocabulary in which some words are rare."""
    source = random.Random(seed)
    vocabulary = [f"w{rank}" for rank in range(40)]
    weights = [1 / (rank + 1) for rank in range(40)]
    return {
        f"d{i:02}": source.choices(vocabulary, weights, k=source.randrange(0, 30))
        for i in range(60)
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_is_that_of_the_formula(namespace: Namespace, seed: int) -> None:
    documents = corpus(seed)
    write(namespace, documents)
    for query in (["w0"], ["w3", "w17", "w30"], ["w1", "w1", "w1", "w9"], ["w2", "nowhere"]):
        assert ranked(namespace, ("content", "BM25", query)) == bm25_order(documents, query)


def test_replaced_and_deleted_documents_leave_the_statistics(
    namespace: Namespace, target: Target
) -> None:
    if not target.is_local:
        pytest.skip("the service updates its statistics when it indexes")
    documents = corpus(3)
    write(namespace, dict.fromkeys(documents, ["w5"] * 40))
    write(namespace, {f"gone{i}": ["w7"] for i in range(50)})
    write(namespace, documents)
    namespace.write(deletes=[f"gone{i}" for i in range(50)])
    for query in (["w5", "w7"], ["w0", "w12"]):
        assert ranked(namespace, ("content", "BM25", query)) == bm25_order(documents, query)


def test_a_filter_narrows_the_list_and_keeps_the_order(namespace: Namespace) -> None:
    documents = corpus(4)
    upsert(namespace, *({"id": i, "content": t, "n": int(i[1:]) % 2} for i, t in documents.items()))
    whole = bm25_order(documents, ["w0", "w4"])
    narrowed = ranked(namespace, ("content", "BM25", ["w0", "w4"]), filters=("n", "In", [1]))
    assert narrowed == [identity for identity in whole if int(identity[1:]) % 2]


def test_tokens_that_come_ready_keep_their_case_and_their_length(namespace: Namespace) -> None:
    long = "x" * 200
    write(namespace, {"1": ["Foo Bar", long]})
    assert ranked(namespace, ("content", "BM25", ["Foo Bar"])) == ["1"]
    assert ranked(namespace, ("content", "BM25", [long])) == ["1"]
    assert ranked(namespace, ("content", "BM25", ["foo bar", "Foo"])) == []


def test_a_query_without_tokens_finds_nothing(namespace: Namespace) -> None:
    write(namespace, {"1": ["word"]})
    assert ranked(namespace, ("content", "BM25", [])) == []


def test_sums_and_products_of_scores(namespace: Namespace) -> None:
    title = {"title": SCHEMA["content"]}
    namespace.write(
        upsert_rows=[
            {"id": "1", "title": ["fox"], "content": ["dog"] * 3, "vector": [1.0, 0.0]},
            {"id": "2", "title": ["bird"], "content": ["fox", "dog"], "vector": [1.0, 0.0]},
            {"id": "3", "title": ["fish"], "content": ["whale"], "vector": [1.0, 0.0]},
        ],
        schema=SCHEMA | title,
        distance_metric="cosine_distance",
    )
    by_title, by_content = ("title", "BM25", ["fox"]), ("content", "BM25", ["fox"])
    assert sorted(ranked(namespace, ("Sum", [by_title, by_content]))) == ["1", "2"]
    assert ranked(namespace, ("Sum", [("Product", 10, by_title), by_content])) == ["1", "2"]
    assert ranked(namespace, ("Sum", [by_title, ("Product", 9.5, by_content)])) == ["2", "1"]
    assert ranked(namespace, ("Product", 0, by_title)) == []
