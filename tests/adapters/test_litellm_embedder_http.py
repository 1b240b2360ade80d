"""LitellmEmbedder through litellm's OpenAI client to a real HTTP server."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from context_search.adapters.litellm_embedder import LitellmEmbedder
from context_search.domain.billed import Billed
from context_search.domain.errors import (
    EmbeddingError,
    EmbeddingRejectedError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
)
from tests.adapters.openai_server import OpenAiServer
from tests.adapters.scripted_embeddings import CANARY, KEY, vector


@pytest.fixture
def openai_server() -> Iterator[tuple[OpenAiServer, str]]:
    server = OpenAiServer()
    with server.running() as url:
        yield server, url


def openai(url: str, model: str = "openai/text-embedding-3-small") -> LitellmEmbedder:
    return LitellmEmbedder(model, 3, api_key=KEY, api_base=url)


def test_openai_is_told_the_dimensions_of_the_models_that_have_a_choice(
    openai_server: tuple[OpenAiServer, str],
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
    openai_server: tuple[OpenAiServer, str],
) -> None:
    server, url = openai_server
    shared = openai(url)
    for timeout_s in (30.0, 29.5, 12.25):
        shared.embed_query("a", timeout_s=timeout_s)
    assert len(server.requests) == 3
    assert len(server.connections) == 1


def test_the_tokens_of_each_reply_are_told(openai_server: tuple[OpenAiServer, str]) -> None:
    _, url = openai_server
    told: list[Billed] = []
    model = "openai/text-embedding-3-small"
    counting = LitellmEmbedder(
        model, 3, api_key=KEY, api_base=url, batch_size=2, on_billed=told.append
    )
    counting.embed_passages(["a", "bb", "ccc"], timeout_s=30)
    counting.embed_query("dddd", timeout_s=30)
    assert told == [Billed(tokens=3), Billed(tokens=3), Billed(tokens=4)]


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_has_taken_the_place_of_a_refused_one_is_used_from_then_on(
    openai_server: tuple[OpenAiServer, str], status: int
) -> None:
    server, url = openai_server
    server.accepted, server.refusal = "new", status
    asked: list[str | None] = []

    def instead_of(refused: str | None) -> str | None:
        asked.append(refused)
        return "new"

    model = "openai/text-embedding-3-small"
    renewed = LitellmEmbedder(model, 3, api_key=KEY, api_base=url, instead_of=instead_of)
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
    openai_server: tuple[OpenAiServer, str],
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
    openai_server: tuple[OpenAiServer, str],
) -> None:
    server, url = openai_server
    server.answering.clear()
    with pytest.raises(EmbeddingTimeoutError):
        openai(url).embed_query("a", timeout_s=0.3)
    assert len(server.requests) == 1


def test_a_closed_port_is_unavailable() -> None:
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
    openai_server: tuple[OpenAiServer, str], capfd: pytest.CaptureFixture[str]
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
