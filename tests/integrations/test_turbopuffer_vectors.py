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
    VectorStoreRejectedError,
    VectorStoreTimeoutError,
    VectorStoreUnavailableError,
)
from context_search.core.ids import ancestor_keys, scope_key, vector_row_id
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


def document(pointer: str, text: str) -> VectorRow:
    return VectorRow(
        id=vector_row_id(
            table_id=1, json_pointer=pointer, content_hash="0" * 64, set_id=1, chunk_index=0
        ),
        vector=vector_of(text),
        tokens=tokens(text),
        ancestors=ancestor_keys(pointer),
        table_id=1,
        chunk_id=1,
        json_pointer=pointer,
        updated_at=datetime(2026, 11, 22, tzinfo=UTC),
    )


DOCUMENTS = {pointer: document(pointer, text) for pointer, text in TEXTS.items()}


def ask(
    vectors: TurbopufferVectors,
    namespace: str,
    text: str,
    *,
    legs: str = "vk",
    limit: int = 9,
    timeout_s: float = 10,
) -> Legs:
    """A query of the legs v and k."""
    query = VectorQuery(
        scope_key=scope_key(""),
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


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=40))
def test_a_vector_is_encoded_as_the_sdk_encodes_it(vector: list[float]) -> None:
    assert encoded(vector) == b64encode_vector(vector)


@given(st.text(), st.lists(st.text(min_size=1)))
def test_a_row_is_what_the_sdk_would_make_of_it(pointer: str, words: list[str]) -> None:
    row = replace(document("/x", "ferry"), json_pointer=pointer, tokens=words)
    given_to_the_sdk = {**columns_of(row), "vector": list(row.vector)}
    made = maybe_transform({"upsert_rows": [given_to_the_sdk]}, NamespaceWriteParams)
    assert made == {"upsert_rows": [columns_of(row)]}


@pytest.mark.parametrize(
    "wrong",
    [{"vector": [1.0, 2.0]}, {"id": "x" * 65}, {"table_id": "one"}],
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


def test_a_page_of_more_ids_than_turbopuffer_gives_is_cut(
    vectors: TurbopufferVectors, filled: str
) -> None:
    assert len(vectors.ids_after(filled, "", 20_000)) == len(DOCUMENTS)


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
        Billed(queried_bytes=query, returned_bytes=size + len(rows) * 4 * SMALL.dimensions),
        Billed(queried_bytes=query, returned_bytes=size),
        Billed(queried_bytes=query, returned_bytes=size),
        Billed(written_bytes=10_000),
    ]
