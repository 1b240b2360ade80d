"""The port ``Embedder`` over OpenAI's route ``/embeddings``, for the providers that speak it.

litellm sends them the same request (tests/integrations/test_same_request.py) after an import of 3 s
of CPU; this takes the HTTP client that turbopuffer's SDK has loaded. Only models are served here
for which nothing of the request depends on more than their name and the settings; litellm has the
rest.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import msgspec

from context_search.core.errors import EmbeddingDimensionMismatchError
from context_search.integrations.bounded_http import MAX_BYTES, ReplyTooLongError, bounded
from context_search.integrations.models.provider_calls import Refusal, retry_after_s
from context_search.integrations.models.provider_embedder import ProviderEmbedder, Vectors

OPENAI = "https://api.openai.com/v1"
BARE_NAMES = ("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002")
"""Models that litellm knows to be OpenAI's without being told the provider."""
OF_ONES_OWN = ("hosted_vllm", "litellm_proxy")
"""Providers of which everybody has an address of their own, and which are told the dimensions."""
VLLM = "hosted_vllm"
"""The one that may want no key, and whose address may be that of the route."""
PARAMS = ("encoding_format", "extra_body", "input_type", "prompt_name", "task", "truncate", "user")
"""What may be asked beside the texts: litellm passes these on as they are."""
BYTES_BESIDE = 1 << 20
"""Room in a reply for all that is no number."""
BYTES_A_NUMBER = 64
"""Room for one number in JSON: 24 characters at most, and how the provider indents it."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a model is asked, what it is called there, and whether it takes ``dimensions``."""

    url: str
    name: str
    takes_dimensions: bool

    @classmethod
    def of(cls, model: str, api_base: str | None, *, has_key: bool) -> Route | None:
        """Returns the route of litellm's name of a model; None if litellm has to find it."""
        provider, _, name = model.partition("/")
        if model in BARE_NAMES and api_base is None:
            provider, name = "openai", model
        if not has_key and provider != VLLM:
            return None  # litellm looks for one elsewhere
        if provider == "openai" and name:
            base = (api_base or OPENAI).rstrip("/")
            return cls(f"{base}/embeddings", name, "text-embedding-3" in name)
        if provider in OF_ONES_OWN and name and api_base is not None:
            base = api_base.rstrip("/")
            if provider == VLLM:
                base = base.removesuffix("/embeddings")
            return cls(f"{base}/embeddings", name, takes_dimensions=True)
        return None


def may_be_asked(params: Mapping[str, object]) -> bool:
    """Says whether OpenAiEmbedder sends these parameters as litellm does."""
    extra = params.get("extra_body", {})
    return (
        params.keys() <= set(PARAMS)
        and None not in params.values()
        and params.get("encoding_format", "float") == "float"
        and isinstance(extra, dict)
        and extra.keys().isdisjoint(("model", "input", *params))  # which of both counts?
    )


class OpenAiEmbedder(ProviderEmbedder):
    """A model behind OpenAI's route; it keeps its connections.

    Redirects are refused: they would hand texts to another host than the one that was chosen. A
    reply is read as far as vectors of these dimensions can be long.
    """

    def __init__(self, model: str, dimensions: int, *, route: Route, **more: Any) -> None:
        """``more`` are the arguments of ProviderEmbedder."""
        super().__init__(model, dimensions, **more)
        self._route = route
        self._client = bounded(
            httpx2.Client(
                follow_redirects=False,
                limits=httpx2.Limits(max_keepalive_connections=20, keepalive_expiry=60.0),
            ),
            httpx2,
        )
        weakref.finalize(self, self._client.close)

    def warm_up(self) -> None:
        """Nothing is left to do."""

    def _ask(
        self,
        texts: Sequence[str],
        params: Mapping[str, object],
        api_key: str | None,
        timeout_s: float,
    ) -> Vectors | Refusal:
        longest = BYTES_BESIDE + BYTES_A_NUMBER * self.dimensions * len(texts)
        headers = {"Content-Type": "application/json"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        try:
            response = self._client.post(
                self._route.url,
                content=msgspec.json.encode(self._body(texts, params)),
                headers=headers,
                timeout=timeout_s,
                extensions={MAX_BYTES: longest},
            )
        except ReplyTooLongError:
            raise EmbeddingDimensionMismatchError(
                "the reply is longer than its vectors can be"
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            is_late = isinstance(error, httpx2.TimeoutException)
            return Refusal(type(error).__name__, 408 if is_late else None)
        return vectors_of(response.content) if response.is_success else _refusal(response)

    def _body(self, texts: Sequence[str], params: Mapping[str, object]) -> dict[str, object]:
        body: dict[str, object] = {"model": self._route.name, "input": texts}
        if self._route.takes_dimensions:
            body["dimensions"] = self.dimensions
        body |= params
        extra = body.pop("extra_body", {})
        return body | extra if isinstance(extra, dict) else body


def _refusal(response: httpx2.Response) -> Refusal:
    status = response.status_code
    return Refusal(f"the provider answered {status}", status, retry_after_s(response.headers))


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Reply(msgspec.Struct):
    data: list[_Item]
    usage: Any = None


_READER = msgspec.json.Decoder(_Reply)


def vectors_of(content: bytes) -> Vectors | Refusal:
    """Reads OpenAI's reply. Raises EmbeddingDimensionMismatchError for JSON that is none."""
    try:
        reply = _READER.decode(content)
    except (ValueError, RecursionError) as error:
        if isinstance(error, msgspec.ValidationError) or _is_python_json(content):
            raise EmbeddingDimensionMismatchError("the reply is no list of number lists") from None
        return Refusal("the reply is not JSON")
    return Vectors([(item.index, item.embedding) for item in reply.data], _tokens(reply.usage))


def _is_python_json(content: bytes) -> bool:
    """Says whether it is JSON with NaN, which some servers write."""
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True


def _tokens(usage: Any) -> object:
    return usage.get("total_tokens") or usage.get("prompt_tokens") if type(usage) is dict else 0
