"""The port ``Embedder`` over OpenAI's route ``/embeddings``, for the providers that speak it.

litellm sends them the same request (tests/adapters/test_same_request.py) after an import of 3 s of
CPU; this takes the HTTP client that turbopuffer's SDK has loaded. Only models are served here for
which nothing of the request depends on more than their name and the settings; litellm has the rest.
"""

from __future__ import annotations

import json
import math
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import msgspec

from context_search.adapters.provider_calls import Refusal, retry_after_s
from context_search.adapters.provider_embedder import ProviderEmbedder, Vectors
from context_search.domain.errors import EmbeddingDimensionMismatchError

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


class _End(threading.local):
    """When what this thread asks for has to be over, on the monotonic clock."""

    at = math.inf

    def at_most(self, timeout_s: float | None) -> float:
        """Returns how long to wait for the socket. Raises ReadTimeout when it is over."""
        left_s = self.at - time.monotonic()
        if left_s <= 0:
            raise httpx2.ReadTimeout("the reply had no end in time")
        return left_s if timeout_s is None else min(timeout_s, left_s)


class _EndingStream:
    """A connection that ends with the request: the client's timeout is for each read alone.

    A server that sends a little of a head, or of nothing, again and again would hold it for ever.
    """

    def __init__(self, inner: Any, end: _End) -> None:
        self._inner, self._end = inner, end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Waits no longer than the request may take."""
        read: bytes = self._inner.read(max_bytes, self._end.at_most(timeout))
        return read

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Waits no longer than the request may take."""
        self._inner.write(buffer, self._end.at_most(timeout))

    def start_tls(self, *args: Any, **more: Any) -> _EndingStream:
        """Returns the same, encrypted."""
        return _EndingStream(self._inner.start_tls(*args, **more), self._end)


class _EndingBackend:
    """What httpcore2 opens connections with; they end with their requests."""

    def __init__(self, inner: Any, end: _End) -> None:
        self._inner, self._end = inner, end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, **more: Any) -> _EndingStream:
        """Returns a connection of the inner backend."""
        return _EndingStream(self._inner.connect_tcp(*args, **more), self._end)


def _end_all(client: httpx2.Client, end: _End) -> None:
    # The client hands no backend on. Those of proxies in the environment are among them.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.HTTPTransport):
            pool: Any = transport._pool
            pool._network_backend = _EndingBackend(pool._network_backend, end)


class OpenAiEmbedder(ProviderEmbedder):
    """A model behind OpenAI's route; it keeps its connections.

    Redirects are refused: they would hand texts to another host than the one that was chosen. A
    reply is read as far as vectors of these dimensions can be long.
    """

    def __init__(self, model: str, dimensions: int, *, route: Route, **more: Any) -> None:
        """``more`` are the arguments of ProviderEmbedder."""
        super().__init__(model, dimensions, **more)
        self._route = route
        self._client = httpx2.Client(
            follow_redirects=False,
            limits=httpx2.Limits(max_keepalive_connections=20, keepalive_expiry=60.0),
        )
        self._end = _End()
        _end_all(self._client, self._end)
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
        self._end.at = time.monotonic() + timeout_s
        longest = BYTES_BESIDE + BYTES_A_NUMBER * self.dimensions * len(texts)
        headers = {"Content-Type": "application/json"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        try:
            with self._client.stream(
                "POST",
                self._route.url,
                content=msgspec.json.encode(self._body(texts, params)),
                headers=headers,
                timeout=timeout_s,
            ) as response:
                if not response.is_success:
                    return _refusal(response)
                content = _read(response, longest)
        except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeError) as error:
            is_late = isinstance(error, httpx2.TimeoutException)
            return Refusal(type(error).__name__, 408 if is_late else None)
        return vectors_of(content)

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


def _read(response: httpx2.Response, longest: int) -> bytes:
    content = bytearray()
    for piece in response.iter_bytes():
        content += piece
        if len(content) > longest:
            raise EmbeddingDimensionMismatchError("the reply is longer than its vectors can be")
    return bytes(content)


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
