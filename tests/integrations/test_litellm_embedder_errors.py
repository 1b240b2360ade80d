"""What LitellmEmbedder makes of the errors that litellm raises."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from context_search.core.errors import (
    EmbeddingError,
    EmbeddingRejectedError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
)
from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from tests.integrations.scripted_embeddings import CANARY, KEY, ScriptedReply, embedder


def raising(make: Callable[[Any], Exception]) -> ScriptedReply:
    def answer(_call: dict[str, Any]) -> Any:
        raise make(importlib.import_module("litellm"))

    return answer


def litellm_error(name: str, **more: Any) -> Callable[[Any], Exception]:
    def make(litellm: Any) -> Exception:
        error: Exception = getattr(litellm, name)(
            message=f"refused: {CANARY} {KEY}", model="m", llm_provider="p", **more
        )
        return error

    return make


def http_response(status: int, headers: dict[str, str] | None = None) -> httpx.Response:
    request = httpx.Request("POST", "https://provider.invalid")
    return httpx.Response(status, headers=headers, request=request)


class StatusError(Exception):
    """How a custom provider reports a status of its own."""

    def __init__(self, status_code: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"refused: {CANARY}")
        self.status_code = status_code
        self.headers = headers


FAILURES: list[tuple[Callable[[Any], Exception], type[EmbeddingError], float | None]] = [
    (litellm_error("Timeout"), EmbeddingTimeoutError, None),
    (litellm_error("RateLimitError"), EmbeddingUnavailableError, None),
    (
        litellm_error("RateLimitError", response=http_response(429, {"retry-after": "7"})),
        EmbeddingUnavailableError,
        7.0,
    ),
    (
        litellm_error("RateLimitError", response=http_response(429, {"Retry-After-Ms": "250"})),
        EmbeddingUnavailableError,
        0.25,
    ),
    (litellm_error("APIConnectionError"), EmbeddingUnavailableError, None),
    (litellm_error("InternalServerError"), EmbeddingUnavailableError, None),
    (litellm_error("ServiceUnavailableError"), EmbeddingUnavailableError, None),
    (litellm_error("BadRequestError"), EmbeddingRejectedError, None),
    (litellm_error("AuthenticationError"), EmbeddingUnavailableError, None),
    (litellm_error("NotFoundError"), EmbeddingRejectedError, None),
    (litellm_error("ContextWindowExceededError"), EmbeddingRejectedError, None),
    (
        litellm_error("PermissionDeniedError", response=http_response(403)),
        EmbeddingUnavailableError,
        None,
    ),
    (lambda _: StatusError(429, {"retry-after": "3"}), EmbeddingUnavailableError, 3.0),
    (lambda _: StatusError(429, {"retry-after": "1e9"}), EmbeddingUnavailableError, 43_200.0),
    (lambda _: StatusError(429, {"retry-after": "soon"}), EmbeddingUnavailableError, None),
    (lambda _: StatusError(429, {"retry-after": "nan"}), EmbeddingUnavailableError, None),
    (lambda _: StatusError(503, {"retry-after": "2"}), EmbeddingUnavailableError, 2.0),
    (lambda _: StatusError(504), EmbeddingTimeoutError, None),
    (lambda _: StatusError(413), EmbeddingRejectedError, None),
    (lambda _: RuntimeError(CANARY), EmbeddingUnavailableError, None),
    (lambda _: ImportError(CANARY, name="boto3"), EmbeddingUnavailableError, None),
]


@pytest.mark.parametrize(("make", "expected", "retry_after_s"), FAILURES)
def test_every_failure_of_litellm_becomes_one_of_ours_without_its_message(
    make: Callable[[Any], Exception], expected: type[EmbeddingError], retry_after_s: float | None
) -> None:
    failing = embedder(raising(make), api_key=KEY)
    with pytest.raises(expected) as caught:
        failing.embed_query(CANARY, timeout_s=30)
    error = caught.value
    assert type(error) is expected
    assert error.retry_after_s == retry_after_s
    assert CANARY not in str(error)
    assert KEY not in str(error)
    # A chained error would be printed with its message by any logger of tracebacks.
    assert error.__cause__ is None
    assert error.__context__ is None


def test_an_unknown_provider_is_rejected() -> None:
    with pytest.raises(EmbeddingRejectedError):
        LitellmEmbedder("nosuchprovider/m", 3).embed_query("a", timeout_s=30)
