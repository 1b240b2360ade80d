"""LitellmEmbedder, through litellm's OpenAI client, and OpenAiEmbedder, to a real HTTP server."""

from __future__ import annotations

import gzip
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from context_search.core.errors import (
    EmbeddingDimensionMismatchError,
    EmbeddingError,
    EmbeddingRejectedError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
)
from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.integrations.models.openai_embedder import OpenAiEmbedder, Route
from context_search.integrations.ports import Billed, Embedder
from tests.integrations.openai_server import OpenAiServer
from tests.integrations.scripted_embeddings import CANARY, KEY, vector

MODEL = "openai/text-embedding-3-small"
Server = tuple[OpenAiServer, str]
Make = Callable[..., Embedder]


@pytest.fixture
def openai_server() -> Iterator[Server]:
    server = OpenAiServer()
    with server.running() as url:
        yield server, url


def through_litellm(url: str, model: str = MODEL, **more: Any) -> Embedder:
    return LitellmEmbedder(model, 3, api_key=KEY, api_base=url, **more)


def by_ourselves(url: str, model: str = MODEL, **more: Any) -> Embedder:
    route = Route.of(model, url, has_key=True)
    assert route is not None
    return OpenAiEmbedder(model, 3, route=route, api_key=KEY, **more)


@pytest.fixture(params=[through_litellm, by_ourselves])
def openai(request: pytest.FixtureRequest) -> Make:
    make: Make = request.param
    return make


def test_openai_is_told_the_dimensions_of_the_models_that_have_a_choice(
    openai: Make, openai_server: Server
) -> None:
    server, url = openai_server
    assert openai(url).embed_passages(["a", "bb"], timeout_s=30) == [vector(1), vector(2)]
    openai(url, "openai/bge-m3").embed_query("a", timeout_s=30)
    (first, authorization), (second, _) = server.requests
    expected = {"model": "text-embedding-3-small", "input": ["a", "bb"], "dimensions": 3}
    assert {name: first[name] for name in expected} == expected
    assert "dimensions" not in second
    assert authorization == f"Bearer {KEY}"
    # Without the field a server answers numbers; the SDK's own default would ask for base64.
    assert first.get("encoding_format", "float") == "float"


def test_calls_with_different_deadlines_share_one_connection(
    openai: Make, openai_server: Server
) -> None:
    server, url = openai_server
    shared = openai(url)
    for timeout_s in (30.0, 29.5, 12.25):
        shared.embed_query("a", timeout_s=timeout_s)
    assert len(server.requests) == 3
    assert len(server.connections) == 1


def test_the_tokens_of_each_reply_are_told(openai: Make, openai_server: Server) -> None:
    _, url = openai_server
    reported: list[Billed] = []
    counting = openai(url, batch_size=2, on_billed=reported.append)
    counting.embed_passages(["a", "bb", "ccc"], timeout_s=30)
    counting.embed_query("dddd", timeout_s=30)
    assert reported == [Billed(tokens=3), Billed(tokens=3), Billed(tokens=4)]


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_has_taken_the_place_of_a_refused_one_is_used_from_then_on(
    openai: Make, openai_server: Server, status: int
) -> None:
    server, url = openai_server
    server.accepted, server.refusal = "new", status
    asked: list[str | None] = []

    def instead_of(refused: str | None) -> str | None:
        asked.append(refused)
        return "new"

    renewed = openai(url, instead_of=instead_of)
    assert renewed.embed_query("a", timeout_s=30) == vector(1)
    assert renewed.embed_passages(["bb"], timeout_s=30) == [vector(2)]
    assert asked == [KEY]
    keys = [authorization for _, authorization in server.requests]
    assert keys == [f"Bearer {KEY}", "Bearer new", "Bearer new"]


@pytest.mark.parametrize(
    ("status", "headers", "expected", "retry_after_s"),
    [
        (429, {"retry-after": "1"}, EmbeddingUnavailableError, 1.0),
        (429, {"retry-after-ms": "150"}, EmbeddingUnavailableError, 0.15),
        (500, {}, EmbeddingUnavailableError, None),
        (503, {"retry-after": "4"}, EmbeddingUnavailableError, 4.0),
        (400, {}, EmbeddingRejectedError, None),
        (401, {}, EmbeddingUnavailableError, None),
        (403, {}, EmbeddingUnavailableError, None),
        (404, {}, EmbeddingRejectedError, None),
    ],
)
def test_a_status_over_http_is_reported_after_one_request(
    openai: Make,
    openai_server: Server,
    status: int,
    headers: dict[str, str],
    expected: type[EmbeddingError],
    retry_after_s: float | None,
) -> None:
    server, url = openai_server
    server.status, server.headers = status, headers
    with pytest.raises(expected) as caught:
        openai(url).embed_query("a", timeout_s=30)
    assert type(caught.value) is expected
    assert caught.value.retry_after_s == retry_after_s
    assert len(server.requests) == 1


def test_a_provider_slower_than_the_deadline_is_a_timeout_after_one_request(
    openai: Make, openai_server: Server
) -> None:
    server, url = openai_server
    server.answering.clear()
    with pytest.raises(EmbeddingTimeoutError):
        openai(url).embed_query("a", timeout_s=0.3)
    assert len(server.requests) == 1


def test_a_closed_port_is_unavailable(openai: Make) -> None:
    with OpenAiServer().running() as url:
        pass
    with pytest.raises(EmbeddingUnavailableError):
        openai(url).embed_query("a", timeout_s=30)


class Records(logging.Handler):
    """Every log record of the process, whatever its level."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(logging.Formatter().format(record))


def test_neither_text_nor_key_is_logged_or_printed_even_at_debug_level(
    openai: Make, openai_server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    server, url = openai_server
    root, records = logging.getLogger(), Records()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.DEBUG)
    try:
        openai(url).embed_query(CANARY, timeout_s=30)
        server.status = 500
        with pytest.raises(EmbeddingUnavailableError):
            openai(url).embed_query(CANARY, timeout_s=30)
    finally:
        root.removeHandler(records)
        root.setLevel(level)
    printed = capfd.readouterr()
    everything = "\n".join([*records.lines, printed.out, printed.err])
    assert "canary" not in everything
    assert "litellm" not in (printed.out + printed.err).lower()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_hands_no_text_to_another_host(
    openai: Make, openai_server: Server, status: int
) -> None:
    server, url = openai_server
    elsewhere = OpenAiServer()
    with elsewhere.running() as other:
        server.status, server.headers = status, {"location": f"{other}/embeddings"}
        with pytest.raises(EmbeddingUnavailableError):
            openai(url).embed_query(CANARY, timeout_s=30)
    assert (len(server.requests), elsewhere.requests) == (1, [])


def reply_of(*embeddings: object, **more: object) -> bytes:
    """A reply whose items have these embeddings, each at its place."""
    data = [{"index": i, "embedding": embedding} for i, embedding in enumerate(embeddings)]
    return json.dumps({"object": "list", "model": "m", "data": data, **more}).encode()


NO_VECTORS: dict[str, tuple[bytes, type[EmbeddingError]]] = {
    "one vector short": (reply_of(vector(0)), EmbeddingDimensionMismatchError),
    "one too many": (reply_of(*map(vector, range(3))), EmbeddingDimensionMismatchError),
    "another length": (reply_of(vector(0), [0.5, 0.5]), EmbeddingDimensionMismatchError),
    "NaN": (reply_of(vector(0), [0.1, float("nan"), 0.3]), EmbeddingDimensionMismatchError),
    "infinity": (reply_of(vector(0), [0.1, float("inf"), 0.3]), EmbeddingDimensionMismatchError),
    "beyond all numbers": (
        reply_of(vector(0), [0.5, 0.5, 1.5]).replace(b"1.5", b"1e999"),
        EmbeddingDimensionMismatchError,
    ),
    "null for a vector": (reply_of(vector(0), None), EmbeddingDimensionMismatchError),
    "a null inside": (reply_of(vector(0), [0.1, None, 0.3]), EmbeddingDimensionMismatchError),
    "HTML": (b"<html>Bad gateway</html>", EmbeddingUnavailableError),
    "half of it": (b'{"data": [{"index": 0, "embedding": [0.1, ', EmbeddingUnavailableError),
    "half a text": (b'{"data": "\xff', EmbeddingUnavailableError),
}


@pytest.mark.parametrize(("raw", "expected"), NO_VECTORS.values(), ids=NO_VECTORS)
def test_a_reply_that_holds_no_vectors_is_refused(
    openai: Make, openai_server: Server, raw: bytes, expected: type[EmbeddingError]
) -> None:
    server, url = openai_server
    server.raw = raw
    with pytest.raises(EmbeddingError) as caught:
        openai(url).embed_passages([CANARY, "b"], timeout_s=30)
    assert type(caught.value) is expected
    assert "canary" not in "".join(traceback.format_exception(caught.value))
    assert len(server.requests) == 1


@pytest.mark.parametrize("embedding", ["AACAPwAAAEA=", [0.1, "0.2", 0.3], {"0": 0.1}, 7, [[0.1]]])
def test_vectors_of_another_form_are_refused_for_good(
    openai_server: Server, embedding: object
) -> None:
    server, url = openai_server
    server.raw = reply_of(vector(0), embedding)  # litellm's client fails, so that it asks for ever
    with pytest.raises(EmbeddingDimensionMismatchError):
        by_ourselves(url).embed_passages(["a", "b"], timeout_s=30)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"usage": {"prompt_tokens": 7}}, 7),
        ({"usage": {"total_tokens": 9, "prompt_tokens": 7}}, 9),
        ({"usage": None}, 0),
        ({}, 0),
    ],
)
def test_a_provider_that_does_not_tell_its_tokens_is_none(
    openai: Make, openai_server: Server, usage: dict[str, object], tokens: int
) -> None:
    server, url = openai_server
    server.raw = reply_of(vector(1), **usage)
    reported: list[Billed] = []
    assert openai(url, on_billed=reported.append).embed_query("a", timeout_s=30) == vector(1)
    assert reported == [Billed(tokens=tokens)]


@pytest.mark.parametrize("tokens", [-5, 10**30])
def test_what_is_no_number_of_tokens_is_not_billed(
    openai: Make, openai_server: Server, tokens: object
) -> None:
    server, url = openai_server
    server.raw = reply_of(vector(1), usage={"prompt_tokens": tokens, "total_tokens": tokens})
    reported: list[Billed] = []
    assert openai(url, on_billed=reported.append).embed_query("a", timeout_s=30) == vector(1)
    assert reported == [Billed(tokens=0)]


@pytest.mark.parametrize("tokens", [1.5, True, "7"])  # litellm refuses such a reply, or reads it
def test_what_is_no_number_at_all_is_not_billed(openai_server: Server, tokens: object) -> None:
    server, url = openai_server
    server.raw = reply_of(vector(1), usage={"total_tokens": tokens})
    reported: list[Billed] = []
    assert by_ourselves(url, on_billed=reported.append).embed_query("a", timeout_s=30) == vector(1)
    assert reported == [Billed(tokens=0)]


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_reply_is_read_as_far_as_its_vectors_can_be_long(
    openai_server: Server, *, is_packed: bool
) -> None:
    server, url = openai_server
    server.raw = reply_of(vector(1), more="x" * 2_000_000)
    if is_packed:
        server.raw = gzip.compress(server.raw)
        server.headers = {"content-encoding": "gzip"}
    with pytest.raises(EmbeddingDimensionMismatchError):
        by_ourselves(url).embed_query("a", timeout_s=30)
    server.raw = gzip.compress(reply_of(vector(1))) if is_packed else reply_of(vector(1))
    assert by_ourselves(url).embed_query("a", timeout_s=30) == vector(1)


def test_numbers_as_long_as_json_writes_them_are_read(openai_server: Server) -> None:
    server, url = openai_server
    number, dimensions = -1.2345678901234567e-300, 3_072
    server.raw = json.dumps(
        {"data": [{"index": i, "embedding": [number] * dimensions} for i in range(10)]}, indent=4
    ).encode()
    route = Route.of(MODEL, url, has_key=True)
    assert route is not None
    vectors = OpenAiEmbedder(MODEL, dimensions, route=route, api_key=KEY).embed_passages(
        ["a"] * 10, timeout_s=30
    )
    assert vectors == [[number] * dimensions] * 10
