"""LitellmReranker through litellm to a real HTTP server."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from context_search.core.errors import (
    RerankError,
    RerankRejectedError,
    RerankTimeoutError,
    RerankUnavailableError,
)
from context_search.integrations.models.bounded_models import BoundedReranker
from context_search.integrations.models.litellm_reranker import LitellmReranker
from context_search.integrations.ports import Billed
from testing.in_memory.reranker import WordReranker
from tests.integrations.rerank_server import NO_SCORES, RerankServer, opinions, set_answer
from tests.integrations.scripted_embeddings import CANARY, KEY
from tests.integrations.test_embedders_over_http import Records

TEXTS = ["harbour", "comets"]
MODEL = "cohere/rerank-v3.5"
PATHS = {
    MODEL: "/v2/rerank",
    "voyage/rerank-2.5": "/v1/rerank",
    "jina_ai/jina-reranker-v3": "/v1/rerank",
    "azure_ai/rerank": "/v1/rerank",
    "fireworks_ai/rerank": "/inference/v1/rerank",
    "hosted_vllm/rerank": "/rerank",
    "infinity/rerank": "/rerank",
    "together_ai/rerank": "/rerank",
}


@pytest.fixture
def server() -> Iterator[RerankServer]:
    serving = RerankServer()
    with serving.running() as url:
        serving.url = url  # type: ignore[attr-defined]
        yield serving


def asking(server: RerankServer, model: str = MODEL, **more: Any) -> LitellmReranker:
    return LitellmReranker(model, api_key=KEY, api_base=server.url, **more)  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", PATHS)
def test_providers_are_asked_once_for_scores_without_texts(
    server: RerankServer, model: str
) -> None:
    reported: list[Billed] = []
    scores = asking(server, model, on_billed=reported.append).scores("comets", TEXTS, timeout_s=30)
    assert scores == {0: 0.0, 1: 1.0}
    [(body, authorization)], [path] = server.requests, server.paths
    assert path == PATHS[model]
    assert (body["query"], body["documents"], authorization) == ("comets", TEXTS, f"Bearer {KEY}")
    assert body["return_documents"] is False
    assert 2 in (body.get("top_n"), body.get("top_k"))
    [billed] = reported
    # Cohere's answer tells searches, the others' tokens; litellm drops those of one.
    tokens = sum(map(len, ["comets", *TEXTS]))
    assert (billed.reranks, billed.rerank_tokens) in {(1, tokens), (1, 0)}
    assert billed.rerank_tokens or model in (MODEL, "azure_ai/rerank")


def test_texts_may_be_left_out_of_an_answer(server: RerankServer) -> None:
    server.results = opinions((1, -3.5))
    assert asking(server).scores("comets", TEXTS, timeout_s=30) == {1: -3.5}


@pytest.mark.parametrize("model", [MODEL, "voyage/rerank-2.5", "hosted_vllm/rerank"])
@pytest.mark.parametrize("answer", NO_SCORES.values(), ids=NO_SCORES)
def test_an_answer_that_is_no_opinion_is_refused(
    server: RerankServer, model: str, answer: Any
) -> None:
    set_answer(server, answer)
    with pytest.raises(RerankUnavailableError) as caught:
        asking(server, model).scores("comets", TEXTS, timeout_s=30)
    assert type(caught.value) is RerankUnavailableError
    assert len(server.requests) == 1


@pytest.mark.parametrize("model", [MODEL, "voyage/rerank-2.5", "hosted_vllm/rerank"])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, RerankRejectedError),
        (401, RerankUnavailableError),
        (403, RerankUnavailableError),
        (404, RerankRejectedError),
        (422, RerankRejectedError),
        (429, RerankUnavailableError),
        (500, RerankUnavailableError),
        (502, RerankUnavailableError),
        (503, RerankUnavailableError),
        (504, RerankTimeoutError),
    ],
)
def test_a_status_is_reported_after_one_request(
    server: RerankServer, model: str, status: int, expected: type[RerankError]
) -> None:
    server.status = status
    with pytest.raises(RerankError) as caught:
        asking(server, model).scores("comets", TEXTS, timeout_s=30)
    assert type(caught.value) is expected
    assert len(server.requests) == 1


def test_a_provider_slower_than_its_time_is_a_timeout_after_one_request(
    server: RerankServer,
) -> None:
    server.answering.clear()
    with pytest.raises(RerankTimeoutError):
        asking(server).scores("comets", TEXTS, timeout_s=0.3)
    assert len(server.requests) == 1


def test_a_provider_that_litellm_gives_no_timeout_is_left_behind(server: RerankServer) -> None:
    server.answering.clear()
    with ThreadPoolExecutor(1) as threads:
        bounded = BoundedReranker(asking(server, "together_ai/rerank"), threads)
        with pytest.raises(RerankTimeoutError):
            bounded.scores("comets", TEXTS, timeout_s=0.3)
        server.answering.set()
    assert len(server.requests) == 1


def test_a_closed_port_is_unavailable() -> None:
    with RerankServer().running() as url:
        pass
    closed = LitellmReranker(MODEL, api_key=KEY, api_base=url)
    with pytest.raises(RerankUnavailableError):
        closed.scores("comets", TEXTS, timeout_s=30)


def test_a_key_that_has_taken_the_place_of_a_refused_one_is_used_from_then_on(
    server: RerankServer,
) -> None:
    server.accepted = "new"
    asked: list[str | None] = []

    def instead_of(refused: str | None) -> str | None:
        asked.append(refused)
        return "new"

    renewed = asking(server, instead_of=instead_of)
    assert renewed.scores("comets", TEXTS, timeout_s=30) == {0: 0.0, 1: 1.0}
    assert renewed.scores("harbour", TEXTS, timeout_s=30) == {0: 1.0, 1: 0.0}
    assert asked == [KEY]
    keys = [authorization for _, authorization in server.requests]
    assert keys == [f"Bearer {KEY}", "Bearer new", "Bearer new"]


FAILED_AND_DONE = """
import sys
from contextlib import suppress
from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.integrations.models.litellm_reranker import LitellmReranker
from context_search.core.errors import EmbeddingError
closed, url, model = sys.argv[1:]
with suppress(EmbeddingError):
    LitellmEmbedder("voyage/v", 4, api_key="k", api_base=closed).embed_query("q", timeout_s=30)
asked = LitellmReranker(model, api_key="k", api_base=url)
assert asked.scores("comets", ["harbour", "comets"], timeout_s=30) == {0: 0.0, 1: 1.0}
"""


@pytest.mark.slow
def test_a_process_that_ends_leaves_no_connection_open(server: RerankServer) -> None:
    with RerankServer().running() as closed:
        pass
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", FAILED_AND_DONE, closed]
    reported = subprocess.run(  # noqa: S603 - of our own
        [*command, server.url, MODEL],  # type: ignore[attr-defined]
        capture_output=True,
        text=True,
        check=True,
    )
    assert "unclosed" not in reported.stderr


@pytest.mark.parametrize("model", [MODEL, "together_ai/rerank", "hosted_vllm/rerank"])
@pytest.mark.parametrize("status", [200, 400, 500])
def test_neither_text_nor_key_is_in_an_error_a_log_or_print_even_at_debug_level(
    server: RerankServer, capfd: pytest.CaptureFixture[str], model: str, status: int
) -> None:
    root, records = logging.getLogger(), Records()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.DEBUG)
    server.status, server.raw = status, f'{{"results": "{CANARY}"}}'.encode()
    try:
        with pytest.raises(RerankError) as caught:
            asking(server, model).scores(CANARY, [CANARY, "comets"], timeout_s=30)
    finally:
        root.removeHandler(records)
        root.setLevel(level)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    printed = capfd.readouterr()
    everything = "\n".join([*records.lines, printed.out, printed.err, repr(caught.value)])
    assert "canary" not in everything
    assert "litellm" not in (printed.out + printed.err).lower()


class Importing(WordReranker):
    """Notes which threads have imported its library."""

    def __init__(self) -> None:
        super().__init__()
        self.warmed_by: list[int] = []

    def warm_up(self) -> None:
        """See the port."""
        self.warmed_by.append(threading.get_ident())


def test_the_import_of_the_library_is_not_in_the_time_of_an_opinion() -> None:
    inner, free = Importing(), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        threads.submit(free.wait)  # no thread is free, so nothing that is timed begins
        with pytest.raises(RerankTimeoutError):
            BoundedReranker(inner, threads).scores("q", TEXTS, timeout_s=0.01)
        free.set()
        assert inner.warmed_by == [threading.get_ident()]
        assert BoundedReranker(inner, threads).scores("comets", TEXTS, timeout_s=10)
