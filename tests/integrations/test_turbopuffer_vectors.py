"""The adapter over the real SDK against the local turbopuffer server, as a process of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from turbopuffer import Turbopuffer
from turbopuffer._utils import maybe_transform
from turbopuffer.lib.vector import b64encode_vector
from turbopuffer.types.namespace_write_params import NamespaceWriteParams

from context_search.core.config import IndexConfig
from context_search.core.errors import (
    NamespaceMissingError,
    VectorStoreRejectedError,
    VectorStoreTimeoutError,
    VectorStoreUnavailableError,
)
from context_search.core.ids import ancestor_keys, scope_key, vector_row_id, window_ids
from context_search.integrations.ports import Billed, Legs, Ranked, VectorQuery, VectorRow
from context_search.integrations.turbopuffer import TurbopufferVectors, columns_of, encoded
from context_search.text.analysis import tokens
from testing.in_memory.embedder import WordEmbedder
from tests.contract.turbopuffer.faulty import Faults
from tests.contract.turbopuffer.targets import KEY, LocalServer, running
from tests.integrations.openai_server import OpenAiServer
from tests.steps import SMALL

LEAN = replace(SMALL, storage="lean")
TEXTS = {
    "/a/0": "the board raised the dividend",
    "/a/1": "a ferry crossed the harbour at night",
    "/ab": "the board closed the harbour",
    "/中/文": "董事会提高了股息",
}
SOON = 0.01  # seconds that the SDK is told to wait
_numbers = itertools.count(1)
_words = WordEmbedder(SMALL.dimensions)


@pytest.fixture(scope="module")
def local_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with running(tmp_path_factory.mktemp("turbopuffer")) as started:
        yield started


@pytest.fixture(scope="module")
def vectors(local_server: LocalServer) -> TurbopufferVectors:
    return TurbopufferVectors(api_key=KEY, base_url=local_server.url)


@pytest.fixture
def faults(local_server: LocalServer) -> Iterator[Faults]:
    with httpx2.Client(base_url=local_server.url) as http:
        board = Faults(http)
        yield board
        board.clear()


@pytest.fixture
def namespace() -> str:
    return f"project_1_table_{next(_numbers)}"


def vector_of(text: str) -> list[float]:
    return _words.embed_query(text, timeout_s=1)


def document(pointer: str, text: str, *, index: int = 0, set_id: int = 1) -> VectorRow:
    return VectorRow(
        id=vector_row_id(
            table_id=1,
            json_pointer=pointer,
            content_hash="0" * 64,
            set_id=set_id,
            chunk_index=index,
        ),
        vector=vector_of(text),
        tokens=tokens(text),
        ancestors=ancestor_keys(pointer),
        table_id=1,
        chunk_id=index + 1,
        json_pointer=pointer,
        updated_at=datetime(2026, 11, 22, tzinfo=UTC),
    )


DOCUMENTS = {pointer: document(pointer, text) for pointer, text in TEXTS.items()}


def ask(
    vectors: TurbopufferVectors,
    namespace: str,
    text: str,
    scope: str = "",
    *,
    legs: str = "vk",
    limit: int = 9,
    timeout_s: float = 10,
) -> Legs:
    """A query of the legs v and k."""
    query = VectorQuery(
        scope_key=scope_key(scope),
        vector=vector_of(text) if "v" in legs else None,
        tokens=dict.fromkeys(tokens(text), 1.0) if "k" in legs else None,
        limit=limit,
    )
    return vectors.query(namespace, query, timeout_s=timeout_s)


def pointers(leg: list[Ranked] | None) -> list[str]:
    """Where the rows of a leg come from, best first."""
    by_id = {found.id: pointer for pointer, found in DOCUMENTS.items()}
    return [by_id[row.doc_id] for row in leg or []]


@pytest.fixture
def filled(vectors: TurbopufferVectors, namespace: str) -> str:
    """A namespace with DOCUMENTS."""
    vectors.upsert(namespace, list(DOCUMENTS.values()), config=SMALL)
    return namespace


def test_both_legs_rank_what_was_written(vectors: TurbopufferVectors, filled: str) -> None:
    legs = ask(vectors, filled, TEXTS["/a/0"])
    assert pointers(legs.vector)[0] == pointers(legs.keyword)[0] == "/a/0"
    assert legs.vector is not None
    assert legs.vector[0].score == pytest.approx(1.0, abs=1e-3)  # cosine similarity
    for leg in (legs.vector, legs.keyword or []):
        scores = [row.score for row in leg]
        assert scores == sorted(scores, reverse=True)
    assert set(pointers(legs.keyword)) == {"/a/0", "/ab"}  # only what shares a word
    assert set(pointers(legs.vector)) == set(TEXTS)


def test_chinese_is_found_by_its_tokens(vectors: TurbopufferVectors, filled: str) -> None:
    assert pointers(ask(vectors, filled, "股息", legs="k").keyword) == ["/中/文"]


@pytest.mark.parametrize(
    ("scope", "inside"),
    [
        ("", set(TEXTS)),
        ("/a", {"/a/0", "/a/1"}),
        ("/a/1", {"/a/1"}),
        ("/ab", {"/ab"}),
        ("/中", {"/中/文"}),
        ("/b", set()),
        ("/", set()),
        ("/*", set()),
    ],
)
def test_a_query_sees_its_scope_only(
    vectors: TurbopufferVectors, filled: str, scope: str, inside: set[str]
) -> None:
    legs = ask(vectors, filled, "the board harbour ferry 股息", scope)
    assert set(pointers(legs.vector)) == inside
    assert set(pointers(legs.keyword)) == inside


@pytest.mark.parametrize("legs", ["v", "k"])
def test_a_leg_that_was_not_asked_for_is_none_and_one_without_hits_is_empty(
    vectors: TurbopufferVectors, filled: str, legs: str
) -> None:
    answer = ask(vectors, filled, "harbour", "/none", legs=legs)
    assert answer == (Legs(vector=[]) if legs == "v" else Legs(keyword=[]))


def test_the_limit_holds_for_each_leg(vectors: TurbopufferVectors, filled: str) -> None:
    legs = ask(vectors, filled, "the board harbour", limit=1)
    assert len(legs.vector or []) == len(legs.keyword or []) == 1


def test_writing_the_same_again_changes_nothing(vectors: TurbopufferVectors, filled: str) -> None:
    before = ask(vectors, filled, "harbour")
    vectors.upsert(filled, list(DOCUMENTS.values()), config=SMALL)
    assert ask(vectors, filled, "harbour") == before
    assert len(vectors.ids_after(filled, "", 99)) == len(DOCUMENTS)


def test_the_first_write_declares_the_whole_schema(
    vectors: TurbopufferVectors, namespace: str, local_server: LocalServer
) -> None:
    lean = replace(DOCUMENTS["/ab"], tokens=None)
    vectors.upsert(namespace, [lean], config=SMALL)
    with Turbopuffer(api_key=KEY, base_url=local_server.url, region=None) as client:
        schema = client.namespace(namespace).schema()
    filterable = {name for name, attribute in schema.items() if attribute.filterable}
    assert filterable - {"id"} == {"ancestors", "table_id", "chunk_id", "updated_at"}
    stored = {"json_pointer", "vector", "content"}
    assert schema.keys() - {"id"} - filterable == stored
    # So the keyword leg is legal although nobody has written a token yet.
    assert ask(vectors, namespace, "harbour", legs="k") == Legs(keyword=[])


def test_lean_storage_keeps_every_word_out_of_turbopuffer(
    vectors: TurbopufferVectors, namespace: str, local_server: LocalServer
) -> None:
    lean = [replace(found, tokens=None) for found in DOCUMENTS.values()]
    vectors.upsert(namespace, lean, config=LEAN)
    assert pointers(ask(vectors, namespace, TEXTS["/ab"], legs="v").vector)[0] == "/ab"
    with Turbopuffer(api_key=KEY, base_url=local_server.url, region=None) as client:
        stored = client.namespace(namespace)
        assert "content" not in stored.schema()
        rows = stored.query(rank_by=("id", "asc"), limit=99, include_attributes=True).rows
    assert not any("harbour" in str(row) for row in rows or [])


def test_a_chunk_is_ranked_once_by_its_best_window(
    vectors: TurbopufferVectors, namespace: str
) -> None:
    chunk = document("/a/0", "nothing of interest")
    names = window_ids(chunk.id, 3)
    later = [
        replace(chunk, id=name, vector=vector_of(text), tokens=None)
        for name, text in zip(names[1:], ["the ferry", "the dividend"], strict=True)
    ]
    other = document("/ab", "the dividend board")
    vectors.upsert(namespace, [chunk, *later, other], config=SMALL)
    legs = ask(vectors, namespace, "the dividend")
    assert [row.doc_id for row in legs.vector or []] == [chunk.id, other.id]
    assert (legs.vector or [])[0].score == pytest.approx(1.0, abs=1e-3)
    assert vectors.ids_after(namespace, "", 99) == sorted([*names, other.id])


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=40))
def test_a_vector_is_encoded_as_the_sdk_encodes_it(vector: list[float]) -> None:
    assert encoded(vector) == b64encode_vector(vector)


@given(st.text(), st.lists(st.text(min_size=1)))
def test_a_row_is_what_the_sdk_would_make_of_it(pointer: str, words: list[str]) -> None:
    row = replace(document("/x", "ferry"), json_pointer=pointer, tokens=words)
    given_to_the_sdk = {**columns_of(row), "vector": list(row.vector)}
    made = maybe_transform({"upsert_rows": [given_to_the_sdk]}, NamespaceWriteParams)
    assert made == {"upsert_rows": [columns_of(row)]}


def test_the_33rd_chunk_and_set_32_are_chunks_like_others(
    vectors: TurbopufferVectors, namespace: str
) -> None:
    tricky = [document("/x", f"ferry {n}", index=n, set_id=32) for n in range(30, 40)]
    vectors.upsert(namespace, tricky, config=SMALL)
    found = {row.doc_id for row in ask(vectors, namespace, "ferry", limit=50).vector or []}
    assert found == {chunk.id for chunk in tricky}


def test_ids_are_paged_in_their_own_order(vectors: TurbopufferVectors, filled: str) -> None:
    expected = sorted(found.id for found in DOCUMENTS.values())
    assert vectors.ids_after(filled, "", 99) == expected
    assert vectors.ids_after(filled, "", 2) == expected[:2]
    assert vectors.ids_after(filled, expected[1], 20_000) == expected[2:]
    assert vectors.ids_after(filled, expected[-1], 2) == []


def test_deleting_is_no_error_whatever_is_missing(vectors: TurbopufferVectors, filled: str) -> None:
    gone = DOCUMENTS["/ab"].id
    vectors.delete(filled, [gone, "never-was"])
    vectors.delete(filled, [gone])
    assert gone not in vectors.ids_after(filled, "", 99)
    vectors.delete("no_such_namespace", [gone])
    vectors.delete_namespace(filled)
    vectors.delete_namespace(filled)
    with pytest.raises(NamespaceMissingError):
        vectors.ids_after(filled, "", 9)


def test_a_missing_namespace_is_said_to_be_missing(
    vectors: TurbopufferVectors, namespace: str
) -> None:
    with pytest.raises(NamespaceMissingError) as missing:
        ask(vectors, namespace, "harbour")
    assert not missing.value.retryable


@pytest.mark.parametrize(
    "wrong",
    [
        {"vector": [1.0, 2.0]},
        {"id": "x" * 65},
        {"table_id": "one"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_definite_no_is_not_retryable(
    vectors: TurbopufferVectors, filled: str, wrong: dict[str, object]
) -> None:
    bad = replace(DOCUMENTS["/ab"], **wrong)  # type: ignore[arg-type]
    with pytest.raises(VectorStoreRejectedError) as refusal:
        vectors.upsert(filled, [bad], config=SMALL)
    assert not refusal.value.retryable
    assert "harbour" not in str(refusal.value)
    other = IndexConfig(model="m", dimensions=SMALL.dimensions + 1)
    with pytest.raises(VectorStoreRejectedError):
        vectors.upsert(filled, [bad], config=other)


def execute(operation: str, vectors: TurbopufferVectors, namespace: str) -> None:
    """A write or a query."""
    if operation == "query":
        ask(vectors, namespace, "harbour")
    else:
        vectors.upsert(namespace, [DOCUMENTS["/ab"]], config=SMALL)


@pytest.mark.parametrize("kind", ["429", "409", "503", "drop"])
@pytest.mark.parametrize("operation", ["write", "query"])
def test_what_is_not_a_definite_answer_is_unavailable_and_retryable(
    vectors: TurbopufferVectors, filled: str, faults: Faults, kind: str, operation: str
) -> None:
    faults.arm(kind, count=9, namespace=filled, on=operation, retry_after=SOON)
    with pytest.raises(VectorStoreUnavailableError) as failure:
        execute(operation, vectors, filled)
    assert failure.value.retryable
    assert faults.armed()[0]["count"] == (7 if operation == "query" else 6)


def test_a_passing_fault_is_retried_without_a_word(
    vectors: TurbopufferVectors, filled: str, faults: Faults
) -> None:
    for kind in ("503", "drop", "429"):
        faults.arm(kind, namespace=filled, retry_after=SOON)
        assert pointers(ask(vectors, filled, TEXTS["/ab"]).keyword)[0] == "/ab"
    assert faults.armed() == []


def test_vectors_are_read_back_by_id(vectors: TurbopufferVectors, filled: str) -> None:
    wanted = DOCUMENTS["/a/0"]
    found = vectors.vectors(filled, [wanted.id, "never-was"])
    assert found.keys() == {wanted.id}
    assert list(found[wanted.id]) == pytest.approx(wanted.vector, abs=1e-6)


def test_an_acknowledgement_that_got_lost_is_written_again(
    vectors: TurbopufferVectors, namespace: str, faults: Faults
) -> None:
    faults.arm("drop_after", namespace=namespace, on="write")
    vectors.upsert(namespace, [DOCUMENTS["/ab"]], config=SMALL)
    assert vectors.ids_after(namespace, "", 9) == [DOCUMENTS["/ab"].id]


@pytest.mark.parametrize("operation", ["write", "query"])
def test_a_long_pause_is_left_to_the_caller(
    vectors: TurbopufferVectors, filled: str, faults: Faults, operation: str
) -> None:
    faults.arm("429", namespace=filled, on=operation, retry_after=30)
    with pytest.raises(VectorStoreUnavailableError) as failure:
        execute(operation, vectors, filled)
    assert failure.value.retry_after_s == 30
    assert faults.armed() == []  # asked once, and nobody slept for half a minute


def test_a_short_pause_is_kept(vectors: TurbopufferVectors, filled: str, faults: Faults) -> None:
    faults.arm("429", namespace=filled, on="query", retry_after=SOON)
    assert pointers(ask(vectors, filled, TEXTS["/ab"]).keyword)[0] == "/ab"
    faults.arm("429", namespace=filled, count=9, retry_after=SOON)
    with pytest.raises(VectorStoreUnavailableError) as failure:
        ask(vectors, filled, "harbour")
    assert failure.value.retry_after_s == SOON


def test_a_slow_answer_is_a_timeout(
    vectors: TurbopufferVectors, filled: str, faults: Faults
) -> None:
    faults.arm("slow", count=9, namespace=filled, on="query", delay_ms=1_000)
    with pytest.raises(VectorStoreTimeoutError, match="in time"):
        ask(vectors, filled, "harbour", timeout_s=0.2)


def test_nobody_listening_is_unavailable() -> None:
    vectors = TurbopufferVectors(api_key=KEY, base_url="http://127.0.0.1:9")
    with pytest.raises(VectorStoreUnavailableError):
        ask(vectors, "any", "harbour")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_hands_nothing_to_another_host(status: int) -> None:
    here, elsewhere = OpenAiServer(), OpenAiServer()
    with here.running() as url, elsewhere.running() as other:
        here.status, here.headers, here.raw = status, {"location": other}, b"{}"
        redirected = TurbopufferVectors(api_key=KEY, base_url=url)
        with pytest.raises(VectorStoreUnavailableError):
            redirected.upsert("project_1", [document("/a", TEXTS["/a/0"])], config=SMALL)
    assert (len(here.requests), elsewhere.requests) == (1, [])


def test_every_reply_tells_what_it_is_billed(local_server: LocalServer, namespace: str) -> None:
    reported: list[Billed] = []
    vectors = TurbopufferVectors(api_key=KEY, base_url=local_server.url, on_billed=reported.append)
    rows = list(DOCUMENTS.values())
    ids = [row.id for row in rows]
    size = sum(map(len, ids))
    vectors.upsert(namespace, rows, config=SMALL)
    ask(vectors, namespace, "board", legs="vk", limit=1)
    ask(vectors, namespace, "board", legs="k", limit=1)
    vectors.vectors(namespace, ids)
    vectors.existing(namespace, ids)
    vectors.ids_after(namespace, "", 9)
    vectors.delete(namespace, ids)
    vectors.delete("no_such_namespace", ids)
    one, query, hit = len(ids[0]), 1_280_000_000, 4
    assert {len(each) for each in ids} == {one}
    assert reported == [
        Billed(written_bytes=10_000),
        Billed(queried_bytes=2 * query, returned_bytes=2 * (one + hit)),
        Billed(queried_bytes=query, returned_bytes=one + hit),
        Billed(queried_bytes=query, returned_bytes=size + 4 * 4 * SMALL.dimensions),
        Billed(queried_bytes=query, returned_bytes=size),
        Billed(queried_bytes=query, returned_bytes=size),
        Billed(written_bytes=10_000),
    ]
