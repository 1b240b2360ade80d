"""litellm's own clients follow no redirect, read no endless reply, and end with the deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from context_search.core.errors import (
    ContextSearchError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
    RerankTimeoutError,
    RerankUnavailableError,
)
from context_search.integrations import bounded_http
from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.integrations.models.litellm_reranker import LitellmReranker
from tests.integrations.json_server import JsonHandler, serving


def embed(model: str) -> Callable[[str, float], object]:
    return lambda url, seconds: LitellmEmbedder(model, 3, api_base=url, api_key="key").embed_query(
        "secret text", timeout_s=seconds
    )


def rerank(model: str) -> Callable[[str, float], object]:
    return lambda url, seconds: LitellmReranker(model, api_base=url, api_key="key").scores(
        "q", ["secret text"], timeout_s=seconds
    )


CALLS = {
    model: call(model)
    for call, models in (
        (embed, ("openai/text-embedding-3-small", "cohere/embed-english-v3.0", "voyage/voyage-3")),
        (rerank, ("cohere/rerank-v3.5", "voyage/rerank-2.5", "jina_ai/jina-reranker-v2")),
    )
    for model in models
}
every_client = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def answering(answer: Callable[[JsonHandler, bytes], Any]) -> Any:
    class Handler(JsonHandler):
        def answer(self, body: bytes) -> None:
            answer(self, body)

    return serving(Handler)


@every_client
@pytest.mark.parametrize("status", [301, 307, 308])
def test_no_other_host_gets_the_texts(call: Callable[[str, float], object], status: int) -> None:
    got: list[bytes] = []

    def take(handler: JsonHandler, body: bytes) -> None:
        got.append(body)
        handler.give(200, b"{}")

    with (
        answering(take) as other,
        answering(lambda handler, _: handler.give(status, b"", {"location": other})) as url,
        pytest.raises(ContextSearchError),
    ):
        call(url, 30)
    assert got == []


@every_client
def test_a_drip_ends_with_the_deadline(call: Callable[[str, float], object]) -> None:
    over = threading.Event()

    def drip(handler: JsonHandler, _: bytes) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", "100000000")
        handler.end_headers()
        with suppress(OSError):
            while not over.wait(0.01):
                handler.wfile.write(b" ")

    with answering(drip) as url, pytest.raises((EmbeddingTimeoutError, RerankTimeoutError)):
        call(url, 0.5)
    over.set()


@every_client
def test_a_reply_without_end_is_not_read_to_its_end(call: Callable[[str, float], object]) -> None:
    sent: list[int] = []

    def pour(handler: JsonHandler, _: bytes) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(1 << 40))
        handler.end_headers()
        with suppress(OSError):
            while True:
                handler.wfile.write(b" " * (1 << 20))
                sent.append(1)

    with answering(pour) as url, pytest.raises((EmbeddingUnavailableError, RerankUnavailableError)):
        call(url, 60)
    assert len(sent) < 2 * bounded_http.MAX_REPLY_BYTES >> 20
