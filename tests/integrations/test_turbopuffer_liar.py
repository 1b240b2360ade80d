"""A 200 that is no answer of turbopuffer's: a portal's page, a wrong address, a cut connection."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from context_search.core.errors import VectorStoreTimeoutError, VectorStoreUnavailableError
from context_search.core.ids import ancestor_keys
from context_search.integrations.bounded_http import MAX_REPLY_BYTES
from context_search.integrations.ports import VectorQuery, VectorRow, VectorStore
from context_search.integrations.turbopuffer import TurbopufferVectors
from tests.integrations.json_server import JsonHandler, serving
from tests.steps import SMALL

BLANKS = MAX_REPLY_BYTES + (16 << 20)
MEBIBYTE = b" " * (1 << 20)


class Liar:
    """Answers 200 with whatever a test says, to every request."""

    body: bytes = b""
    kind = "application/json"
    drips = False

    def answer(self, handler: JsonHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", self.kind)
        handler.send_header("content-length", str(len(self.body) or BLANKS))
        handler.end_headers()
        with suppress(OSError):
            if self.drips:
                over = threading.Event()
                while not over.wait(0.01):
                    handler.wfile.write(b" ")
            handler.wfile.write(self.body)


class Endless(Liar):
    """Answers with more blanks than are read."""

    def answer(self, handler: JsonHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(BLANKS))
        handler.end_headers()
        with suppress(OSError):
            for _ in range(BLANKS >> 20):
                handler.wfile.write(MEBIBYTE)


def rows(*given: dict[str, Any]) -> bytes:
    """A reply with the same rows wherever rows may be: for one query and for two."""
    return json.dumps({"rows": given, "results": [{"rows": given}, {"rows": given}]}).encode()


ROW = VectorRow(
    id="1.a.0.5.w",
    vector=[0.5] * SMALL.dimensions,
    tokens=["fox"],
    ancestors=ancestor_keys("/a"),
    table_id=1,
    chunk_id=1,
    json_pointer="/a",
    updated_at=datetime(2026, 1, 1, tzinfo=UTC),
)
GOOD = {"id": "1.a.0.5.w", "$dist": 0.5, "vector": [1.0, 2.0]}
NO_ANSWERS: dict[str, tuple[str, bytes]] = {
    "html": ("text/html", b"<html>Please sign in</html>"),
    "html that says json": ("application/json", b"<html>Please sign in</html>"),
    "a list": ("application/json", b"[]"),
    "an empty object": ("application/json", b"{}"),
    "null": ("application/json", b"null"),
    "text": ("application/json", b'"OK"'),
    "json cut in half": ("application/json", rows(GOOD, GOOD)[:-30]),
    "bytes of no text": ("application/json", b'{"rows": "\xff\xfe"}'),
    "deep brackets": ("application/json", b"[" * 200_000),
}
READS: dict[str, Callable[[VectorStore], object]] = {
    "query": lambda vectors: vectors.query(
        "n", VectorQuery("", [1.0, 0.0], {"fox": 1.0}, 10), timeout_s=30
    ),
    "vectors": lambda vectors: vectors.vectors("n", ["1.a.0.5.w"]),
    "existing": lambda vectors: vectors.existing("n", ["1.a.0.5.w"]),
    "ids_after": lambda vectors: vectors.ids_after("n", "", 10),
    "namespaces_after": lambda vectors: vectors.namespaces_after("p", "", 10),
    "ping": lambda vectors: vectors.ping(timeout_s=30),
}
WRITES: dict[str, Callable[[VectorStore], object]] = {
    "upsert": lambda vectors: vectors.upsert("n", [ROW], config=SMALL),
    "delete": lambda vectors: vectors.delete("n", ["1"]),
    "delete_namespace": lambda vectors: vectors.delete_namespace("n"),
}


@pytest.fixture(scope="module")
def lied_to() -> Iterator[tuple[Liar, TurbopufferVectors]]:
    """One server and one client of it: what the lie is, each test says."""
    liar = Liar()
    with served(liar) as url:
        yield liar, TurbopufferVectors(api_key="key", base_url=url)


@pytest.fixture
def liar(lied_to: tuple[Liar, TurbopufferVectors]) -> Liar:
    vars(lied_to[0]).clear()  # the lies of the test before
    return lied_to[0]


@pytest.fixture
def vectors(liar: Liar, lied_to: tuple[Liar, TurbopufferVectors]) -> TurbopufferVectors:
    return lied_to[1]


def served(liar: Liar) -> Any:
    class Handler(JsonHandler):
        def answer(self, body: bytes) -> None:
            assert body is not None
            liar.answer(self)

    return serving(Handler)


@pytest.mark.parametrize("reply", NO_ANSWERS)
@pytest.mark.parametrize("call", [*READS, *WRITES])
def test_a_reply_that_is_none_is_an_outage(
    liar: Liar, vectors: TurbopufferVectors, reply: str, call: str
) -> None:
    liar.kind, liar.body = NO_ANSWERS[reply]
    with pytest.raises(VectorStoreUnavailableError):
        {**READS, **WRITES}[call](vectors)


@pytest.mark.parametrize(
    "wrong",
    [
        {**GOOD, "id": None},
        {**GOOD, "id": 7},
        {**GOOD, "id": "1"},
        {**GOOD, "$dist": "near"},
        {**GOOD, "$dist": None},
        {**GOOD, "$dist": float("nan")},
        {**GOOD, "$dist": float("inf")},
        {"$dist": 0.5},
        {"id": "1.a.0.5.w"},
    ],
    ids=str,
)
def test_a_row_that_is_none_is_an_outage(
    liar: Liar, vectors: TurbopufferVectors, wrong: dict[str, Any]
) -> None:
    liar.body = rows(GOOD, wrong)
    with pytest.raises(VectorStoreUnavailableError):
        READS["query"](vectors)


def test_a_reply_to_another_number_of_queries_is_an_outage(
    liar: Liar, vectors: TurbopufferVectors
) -> None:
    for number in (0, 1, 3):
        liar.body = json.dumps({"results": [{"rows": []}] * number}).encode()
        with pytest.raises(VectorStoreUnavailableError):
            READS["query"](vectors)


@pytest.mark.parametrize("vector", ["AACAPwAAAEA=", None, ["1"], [1.0]], ids=str)
def test_vectors_that_are_none_are_an_outage(
    liar: Liar, vectors: TurbopufferVectors, vector: object
) -> None:
    liar.body = rows(GOOD, {**GOOD, "vector": vector})
    with pytest.raises(VectorStoreUnavailableError):
        READS["vectors"](vectors)


@pytest.mark.parametrize(
    "reply",
    [
        {"status": "OK"},
        {"status": "OK", "rows_affected": None},
        {"rows_affected": 1},
        {"status": "ACCEPTED", "rows_affected": 1},
        {"status": "OK", "rows_affected": 0},
        {"status": "OK", "rows_affected": 2},
    ],
    ids=str,
)
def test_a_write_is_acknowledged_by_its_own_count_only(
    liar: Liar, vectors: TurbopufferVectors, reply: dict[str, Any]
) -> None:
    liar.body = json.dumps(reply).encode()
    with pytest.raises(VectorStoreUnavailableError):
        WRITES["upsert"](vectors)
    liar.body = json.dumps({"status": "OK", "rows_affected": 1}).encode()
    WRITES["upsert"](vectors)


def test_a_namespace_page_that_comes_again_is_an_outage(
    liar: Liar, vectors: TurbopufferVectors
) -> None:
    liar.body = json.dumps({"namespaces": [{"id": "a"}], "next_cursor": "same"}).encode()
    with pytest.raises(VectorStoreUnavailableError):
        vectors.namespaces_after("a", "b", 10)


@pytest.mark.slow
def test_a_reply_of_blanks_is_not_read_to_its_end() -> None:
    with served(Endless()) as url, pytest.raises(VectorStoreUnavailableError):
        READS["query"](TurbopufferVectors(api_key="key", base_url=url))


def test_a_drip_ends_with_the_deadline(liar: Liar, vectors: TurbopufferVectors) -> None:
    liar.drips = True
    began = time.monotonic()
    with pytest.raises(VectorStoreTimeoutError):
        vectors.query("n", VectorQuery("", None, {"fox": 1.0}, 10), timeout_s=0.4)
    assert time.monotonic() - began < 10
