"""Contract of ``VectorStore``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from context_search.core.config import IndexConfig
from context_search.core.errors import NamespaceMissingError, VectorStoreRejectedError
from context_search.core.ids import ancestor_keys, scope_key, vector_row_id, window_ids
from context_search.integrations.ports import (
    MAX_QUERY_BYTES,
    Ranked,
    VectorQuery,
    VectorRow,
    VectorStore,
)

CONFIG = IndexConfig("in-memory/words", 3)
LEAN = replace(CONFIG, storage="lean")


def name(pointer: str, index: int = 0, window: int = 0) -> str:
    """The id of a document."""
    chunk = vector_row_id(
        table_id=1, json_pointer=pointer, content_hash="0" * 64, set_id=7, chunk_index=index
    )
    return window_ids(chunk, window + 1)[window]


def document(
    pointer: str,
    vector: Sequence[float],
    tokens: Sequence[str] | None = (),
    *,
    index: int = 0,
    window: int = 0,
) -> VectorRow:
    return VectorRow(
        id=name(pointer, index, window),
        vector=vector,
        tokens=tokens,
        ancestors=ancestor_keys(pointer),
        table_id=1,
        chunk_id=9,
        json_pointer=pointer,
        updated_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


A, B, C = (
    document("/a", [1.0, 0.0, 0.0], ["red", "fox", "fox"]),
    document("/a/b", [0.8, 0.6, 0.0], ["red", "hen"]),
    document("/ab", [0.0, 1.0, 0.0], ["hen", "hen", "hen", "fox"]),
)


@pytest.fixture
def filled(vectors: VectorStore, namespace: str) -> str:
    vectors.upsert(namespace, [A, B, C], config=CONFIG)
    return namespace


def ask(
    vectors: VectorStore,
    namespace: str,
    *,
    vector: Sequence[float] | None = None,
    tokens: Sequence[str] | None = None,
    scope: str = "",
    limit: int = 10,
) -> tuple[list[Ranked] | None, list[Ranked] | None]:
    wanted = None if tokens is None else dict.fromkeys(tokens, 1.0)
    query = VectorQuery(scope_key(scope), vector, wanted, limit)
    legs = vectors.query(namespace, query, timeout_s=10)
    return legs.vector, legs.keyword


def ids(leg: list[Ranked] | None) -> list[str]:
    assert leg is not None
    return [row.doc_id for row in leg]


def test_a_store_that_is_there_answers(vectors: VectorStore) -> None:
    vectors.ping(timeout_s=30)


def test_the_vector_leg_ranks_by_cosine_similarity(vectors: VectorStore, filled: str) -> None:
    leg, keyword = ask(vectors, filled, vector=[2.0, 0.0, 0.0])
    assert keyword is None
    assert ids(leg) == [A.id, B.id, C.id]
    assert [row.score for row in leg or ()] == pytest.approx([1.0, 0.8, 0.0], abs=1e-3)


def test_the_keyword_leg_ranks_by_bm25(vectors: VectorStore, filled: str) -> None:
    leg, keyword = ask(vectors, filled, tokens=["hen"])
    assert leg is None
    assert ids(keyword) == [C.id, B.id]
    assert all(row.score > 0 for row in keyword or ())


@pytest.mark.parametrize(
    ("scope", "found"), [("/a", {A.id, B.id}), ("/a/b", {B.id}), ("/ab", {C.id}), ("/x", set())]
)
def test_a_scope_is_a_part_of_the_document(
    vectors: VectorStore, filled: str, scope: str, found: set[str]
) -> None:
    leg, keyword = ask(vectors, filled, vector=[1.0, 1.0, 0.0], tokens=["fox", "hen"], scope=scope)
    assert set(ids(leg)) == found
    assert set(ids(keyword)) == found


def test_only_strings_that_are_named_are_ranked(vectors: VectorStore, filled: str) -> None:
    both = VectorQuery(scope_key(""), [1.0, 0.0, 0.0], {"red": 1.0, "hen": 1.0}, 10)

    def found(*pointers: str, scope: str = "") -> tuple[list[str], list[str]]:
        keys = tuple(map(scope_key, pointers))
        query = replace(both, keys=keys, scope_key=scope_key(scope))
        legs = vectors.query(filled, query, timeout_s=9)
        assert legs.vector is not None
        assert legs.keyword is not None
        return sorted(r.doc_id for r in legs.vector), sorted(r.doc_id for r in legs.keyword)

    assert found("/ab") == ([C.id], [C.id])
    assert found("/a/b", "/ab", "/nowhere") == (sorted([B.id, C.id]),) * 2
    assert found("/a/b", "/ab", scope="/a") == ([B.id], [B.id])
    assert found() == ([], [])


def test_the_limit_is_for_each_leg(vectors: VectorStore, filled: str) -> None:
    leg, keyword = ask(vectors, filled, vector=[1.0, 0.0, 0.0], tokens=["hen"], limit=1)
    assert (ids(leg), ids(keyword)) == ([A.id], [C.id])


def test_a_chunk_is_ranked_once_by_its_best_window(vectors: VectorStore, namespace: str) -> None:
    windows = [
        document("/a", [0.0, 1.0, 0.0], ["fox"], index=1),
        document("/a", [1.0, 0.0, 0.0], None, index=1, window=1),
        document("/b", [0.8, 0.6, 0.0], ["hen"]),
    ]
    vectors.upsert(namespace, windows, config=CONFIG)
    leg, keyword = ask(vectors, namespace, vector=[1.0, 0.0, 0.0], tokens=["fox"])
    assert ids(leg) == [name("/a", 1), name("/b")]
    assert (leg or [])[0].score == pytest.approx(1.0, abs=1e-3)
    assert ids(keyword) == [name("/a", 1)]


def test_writing_again_changes_nothing(vectors: VectorStore, filled: str) -> None:
    before = ask(vectors, filled, vector=[1.0, 0.0, 0.0], tokens=["hen"])
    vectors.upsert(filled, [A, B, C], config=CONFIG)
    assert ask(vectors, filled, vector=[1.0, 0.0, 0.0], tokens=["hen"]) == before
    assert vectors.ids_after(filled, "", 10) == sorted([A.id, B.id, C.id])


def test_a_write_replaces_the_whole_document(vectors: VectorStore, filled: str) -> None:
    vectors.upsert(filled, [replace(A, vector=[0.0, 0.0, 1.0], tokens=["owl"])], config=CONFIG)
    _, keyword = ask(vectors, filled, tokens=["red", "owl"])
    assert set(ids(keyword)) == {A.id, B.id}
    assert vectors.vectors(filled, [A.id])[A.id] == pytest.approx([0.0, 0.0, 1.0])


def test_deleted_documents_are_gone(vectors: VectorStore, filled: str) -> None:
    vectors.delete(filled, [A.id, "unknown"])
    vectors.delete(filled, [A.id])
    assert vectors.ids_after(filled, "", 10) == sorted([B.id, C.id])
    assert ids(ask(vectors, filled, tokens=["red"])[1]) == [B.id]


def test_deleting_where_nothing_is_makes_no_namespace(vectors: VectorStore, namespace: str) -> None:
    vectors.delete(namespace, [A.id])
    vectors.delete_namespace(namespace)
    with pytest.raises(NamespaceMissingError):
        vectors.existing(namespace, [A.id])


def test_a_deleted_namespace_is_gone_and_may_come_back(vectors: VectorStore, filled: str) -> None:
    vectors.delete_namespace(filled)
    vectors.delete_namespace(filled)
    with pytest.raises(NamespaceMissingError):
        vectors.ids_after(filled, "", 10)
    vectors.upsert(filled, [replace(B, tokens=None)], config=LEAN)
    assert vectors.ids_after(filled, "", 10) == [B.id]


def test_an_emptied_namespace_is_still_there(vectors: VectorStore, filled: str) -> None:
    vectors.delete(filled, [A.id, B.id, C.id])
    assert vectors.ids_after(filled, "", 10) == []
    assert ask(vectors, filled, vector=[1.0, 0.0, 0.0], tokens=["hen"]) == ([], [])


READS: dict[str, Callable[[VectorStore, str], object]] = {
    "query": lambda store, space: ask(store, space, vector=[1.0, 0.0, 0.0]),
    "vectors": lambda store, space: store.vectors(space, ["x"]),
    "existing": lambda store, space: store.existing(space, ["x"]),
    "ids_after": lambda store, space: store.ids_after(space, "", 9),
}


@pytest.mark.parametrize("read", READS)
def test_reading_a_missing_namespace_says_so(
    vectors: VectorStore, namespace: str, read: str
) -> None:
    with pytest.raises(NamespaceMissingError):
        READS[read](vectors, namespace)


def test_vectors_and_ids_are_read_back(vectors: VectorStore, filled: str) -> None:
    found = vectors.vectors(filled, [A.id, "unknown", C.id])
    assert found.keys() == {A.id, C.id}
    assert list(found[A.id]) == pytest.approx([1.0, 0.0, 0.0])
    assert vectors.existing(filled, [B.id, "unknown"]) == {B.id}


def test_nothing_is_asked_for_and_nothing_found(vectors: VectorStore, filled: str) -> None:
    assert vectors.vectors(filled, []) == {}
    assert vectors.existing(filled, []) == set()
    vectors.delete(filled, [])
    assert len(vectors.ids_after(filled, "", 10)) == 3


def test_ids_are_paged_in_their_order(vectors: VectorStore, namespace: str) -> None:
    documents = [document("/a", [1.0, 0.0, 0.0], index=index) for index in range(40)]
    documents.append(document("/a", [1.0, 0.0, 0.0], None, index=3, window=1))
    vectors.upsert(namespace, documents, config=CONFIG)
    pages: list[list[str]] = []
    while page := vectors.ids_after(namespace, pages[-1][-1] if pages else "", 15):
        pages.append(page)
    assert [len(page) for page in pages] == [15, 15, 11]
    assert [each for page in pages for each in page] == sorted(each.id for each in documents)


def test_a_vector_of_another_length_is_refused_for_good(vectors: VectorStore, filled: str) -> None:
    with pytest.raises(VectorStoreRejectedError):
        vectors.upsert(filled, [replace(A, vector=[1.0, 0.0])], config=CONFIG)
    assert list(vectors.vectors(filled, [A.id])[A.id]) == pytest.approx([1.0, 0.0, 0.0])


def test_a_batch_with_one_bad_document_writes_none(vectors: VectorStore, namespace: str) -> None:
    vectors.upsert(namespace, [A], config=CONFIG)
    with pytest.raises(VectorStoreRejectedError):
        vectors.upsert(namespace, [B, replace(C, vector=[1.0])], config=CONFIG)
    assert vectors.ids_after(namespace, "", 10) == [A.id]


def test_lean_documents_have_no_keyword_leg_hits(vectors: VectorStore, namespace: str) -> None:
    vectors.upsert(namespace, [replace(A, tokens=None)], config=LEAN)
    assert ids(ask(vectors, namespace, vector=[1.0, 0.0, 0.0])[0]) == [A.id]


def test_namespaces_do_not_see_each_other(vectors: VectorStore, filled: str) -> None:
    other = f"{filled}_i1_g2"
    vectors.upsert(other, [C], config=CONFIG)
    vectors.delete(other, [A.id])
    assert len(vectors.ids_after(filled, "", 10)) == 3
    assert vectors.ids_after(other, "", 10) == [C.id]


def test_namespaces_are_listed_by_prefix_in_their_order(
    vectors: VectorStore, namespace: str
) -> None:
    names = [f"{namespace}_i{number}_g1" for number in (10, 2, 1)]
    for name in [*names, f"not_{namespace}"]:
        vectors.upsert(name, [A], config=CONFIG)
    prefix, ascending = f"{namespace}_i", sorted(names)
    assert vectors.namespaces_after(prefix, "", 9) == ascending
    assert vectors.namespaces_after(prefix, "", 2) == ascending[:2]
    assert vectors.namespaces_after(prefix, ascending[0], 1) == ascending[1:2]
    assert vectors.namespaces_after(prefix, ascending[-1], 9) == []
    assert vectors.namespaces_after(f"{prefix}3", "", 9) == []


def test_a_word_of_the_question_counts_as_much_as_it_says(
    vectors: VectorStore, filled: str
) -> None:
    def scores(tokens: dict[str, float]) -> dict[str, float]:
        query = VectorQuery(scope_key(""), None, tokens, 10)
        leg = vectors.query(filled, query, timeout_s=10).keyword
        return {row.doc_id: row.score for row in leg or []}

    alone = [scores({word: 1.0}) for word in ("red", "fox", "hen")]
    together = scores({"red": 1.0, "fox": 0.25, "hen": 0.5})
    assert together == {
        name: pytest.approx(
            sum(w * leg.get(name, 0.0) for w, leg in zip((1, 0.25, 0.5), alone, strict=True)),
            rel=1e-5,
        )
        for name in {**alone[0], **alone[1], **alone[2]}
    }
    assert scores({"hen": 0.5}) == {
        name: pytest.approx(score / 2, rel=1e-5) for name, score in alone[2].items()
    }


def test_a_leg_of_as_many_documents_as_it_may_give_is_cut(
    vectors: VectorStore, namespace: str
) -> None:
    windows = [document("/a", [1, 0, 0], ["harbour"]), document("/a", [1, 0, 0], None, window=1)]
    vectors.upsert(namespace, windows, config=CONFIG)
    for limit, is_cut in ((2, True), (3, False)):
        query = VectorQuery(scope_key(""), [1, 0, 0], {"harbour": 1.0}, limit)
        legs = vectors.query(namespace, query, timeout_s=10)
        assert legs.vector is not None
        assert (len(legs.vector), legs.is_cut) == (1, is_cut)


@pytest.mark.parametrize("character", ["x", "é", "中"])
def test_tokens_of_more_bytes_than_a_query_may_have_are_refused(
    vectors: VectorStore, filled: str, character: str
) -> None:
    size = len(character.encode())
    most = [f"{number:02}" + character * ((254 - 2) // size) for number in range(32)]
    room = MAX_QUERY_BYTES - sum(len(token.encode()) for token in most)
    full = [*most, "y" * room]
    assert ask(vectors, filled, tokens=full) == (None, [])
    with pytest.raises(VectorStoreRejectedError):
        ask(vectors, filled, tokens=[*full, "y"])


def test_a_leg_counts_chunks_whatever_their_windows(vectors: VectorStore, namespace: str) -> None:
    rows = [
        document(
            f"/{place}", [10.0, place + window / 10, 0], None if window else ["fox"], window=window
        )
        for place in range(3)
        for window in range(4)
    ]
    vectors.upsert(namespace, rows, config=CONFIG)
    query = VectorQuery(scope_key(""), [1, 0, 0], {"fox": 1.0}, 2)
    found: list[tuple[list[str], bool]] = []
    for each in (query, replace(query, windows=4), replace(query, windows=4, limit=4)):
        legs = vectors.query(namespace, each, timeout_s=10)
        found.append((ids(legs.vector), legs.is_cut))
        assert len(legs.keyword or ()) == min(3, each.limit)
    every = [name(f"/{place}") for place in range(3)]
    assert found == [(every[:1], True), (every[:2], True), (every, False)]


def test_a_namespace_of_f16_gives_back_the_nearest_f16(
    vectors: VectorStore, namespace: str
) -> None:
    row = document("/a", [0.1, 1 / 3, 0.5])
    vectors.upsert(namespace, [row], config=replace(CONFIG, precision="f16"))
    kept = vectors.vectors(namespace, [row.id])[row.id]
    assert list(kept) == pytest.approx([0.0999755859, 0.3332519531, 0.5], rel=1e-7)
    assert ids(ask(vectors, namespace, vector=[0.1, 0.3, 0.5])[0]) == [row.id]
