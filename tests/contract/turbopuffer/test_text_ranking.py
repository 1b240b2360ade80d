"""BM25: order against a reference, tokenizers, combined scores."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.contract.turbopuffer.reference import bm25_order
from tests.contract.turbopuffer.targets import Namespace, Target, ids

TOKENS = {"type": "[]string", "full_text_search": {"tokenizer": "pre_tokenized_array"}}
WORDS = {"type": "string", "full_text_search": True}


def ranked(namespace: Namespace, rank_by: Any, **more: Any) -> list[Any]:
    return ids(namespace.query(rank_by=rank_by, limit=100, **more))


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
    namespace.write(
        upsert_columns={"id": list(documents), "content": list(documents.values())},
        schema={"content": TOKENS},
    )
    for query in (["w0"], ["w3", "w17", "w30"], ["w1", "w1", "w1", "w9"], ["w2", "nowhere"]):
        assert ranked(namespace, ("content", "BM25", query)) == bm25_order(documents, query)


def test_parameters_of_the_attribute_change_the_order(namespace: Namespace) -> None:
    documents = {"long": ["x"] * 3 + ["pad"] * 20, "short": ["x", "pad"], "other": ["y"] * 9}
    settings = {"tokenizer": "pre_tokenized_array", "k1": 2.0, "b": 0.0}
    namespace.write(
        upsert_rows=[{"id": i, "flat": tokens, "usual": tokens} for i, tokens in documents.items()],
        schema={"usual": TOKENS, "flat": {"type": "[]string", "full_text_search": settings}},
    )
    assert ranked(namespace, ("usual", "BM25", ["x"])) == bm25_order(documents, ["x"])
    assert ranked(namespace, ("flat", "BM25", ["x"])) == bm25_order(documents, ["x"], 2.0, 0.0)
    assert bm25_order(documents, ["x"]) != bm25_order(documents, ["x"], 2.0, 0.0)


def test_replaced_and_deleted_documents_leave_the_statistics(
    namespace: Namespace, target: Target
) -> None:
    if not target.is_local:
        pytest.skip("the service updates its statistics when it indexes")
    documents = corpus(3)
    schema = {"content": TOKENS}
    namespace.write(
        upsert_rows=[{"id": i, "content": ["w5"] * 40} for i in documents], schema=schema
    )
    namespace.write(upsert_rows=[{"id": f"gone{i}", "content": ["w7"]} for i in range(50)])
    namespace.write(upsert_rows=[{"id": i, "content": t} for i, t in documents.items()])
    namespace.write(deletes=[f"gone{i}" for i in range(50)])
    for query in (["w5", "w7"], ["w0", "w12"]):
        assert ranked(namespace, ("content", "BM25", query)) == bm25_order(documents, query)


def test_a_filter_narrows_the_list_and_keeps_the_order(namespace: Namespace) -> None:
    documents = corpus(4)
    namespace.write(
        upsert_rows=[{"id": i, "content": t, "side": int(i[1:]) % 2} for i, t in documents.items()],
        schema={"content": TOKENS},
    )
    whole = bm25_order(documents, ["w0", "w4"])
    narrowed = ranked(namespace, ("content", "BM25", ["w0", "w4"]), filters=("side", "Eq", 1))
    assert narrowed == [identity for identity in whole if int(identity[1:]) % 2]


def test_words_are_those_of_unicode_and_case_does_not_matter(namespace: Namespace) -> None:
    text = "e.g. don't 東京タワー 🐡 sea.com Path/To foo_bar"
    namespace.write(upsert_rows=[{"id": 1, "text": text}], schema={"text": WORDS})
    hits = ["e.g", "DON'T", "東", "京", "タワー", "🐡", "sea.com", "path", "foo_bar"]
    misses = ["東京x", "タワ", "don", "com", "foo", "."]
    for word in hits:
        assert ranked(namespace, ("text", "BM25", word)) == [1], word
    for word in misses:
        expected = [1] if word == "東京x" else []  # 東 alone already scores
        assert ranked(namespace, ("text", "BM25", word)) == expected, word


def test_tokens_that_come_ready_keep_their_case_and_their_length(namespace: Namespace) -> None:
    long = "x" * 200
    namespace.write(upsert_rows=[{"id": 1, "t": ["Foo Bar", long]}], schema={"t": TOKENS})
    assert ranked(namespace, ("t", "BM25", ["Foo Bar"])) == [1]
    assert ranked(namespace, ("t", "BM25", [long])) == [1]
    assert ranked(namespace, ("t", "BM25", ["foo bar", "Foo"])) == []


def test_a_query_without_tokens_finds_nothing(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": 1, "text": "word"}], schema={"text": WORDS})
    assert ranked(namespace, ("text", "BM25", "...")) == []


def test_sums_maxima_and_products_of_scores(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[
            {"id": 1, "title": "fox", "text": "dog dog dog"},
            {"id": 2, "title": "bird", "text": "fox dog"},
            {"id": 3, "title": "fish", "text": "whale"},
        ],
        schema={"title": WORDS, "text": WORDS},
    )
    title, text = ("title", "BM25", "fox"), ("text", "BM25", "fox")
    assert sorted(ranked(namespace, ("Sum", [title, text]))) == [1, 2]
    assert ranked(namespace, ("Sum", [("Product", 10, title), text])) == [1, 2]
    assert ranked(namespace, ("Sum", [title, ("Product", text, 10)])) == [2, 1]
    assert sorted(ranked(namespace, ("Max", [title, text, ("text", "BM25", "whale")]))) == [1, 2, 3]
    assert ranked(namespace, ("Product", 0, title)) == []


def test_scores_are_returned_highest_first(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[{"id": i, "text": "fox " * i + "dog"} for i in range(1, 4)],
        schema={"text": WORDS},
    )
    rows = namespace.query(rank_by=("text", "BM25", "fox"), limit=2).rows or []
    scores = [row["$dist"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 2
    assert min(scores) > 0
