"""The port ``Embedder`` over litellm: any provider it knows, chosen by the model's name.

Importing litellm takes 2 to 9 s of CPU, so it happens at the first call (or in ``warm_up``).
litellm passes on whatever a provider answers, so every reply is checked here.
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import importlib
import json
import logging
import math
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from context_search.domain.billed import Billed
from context_search.domain.errors import (
    EmbeddingDimensionMismatchError,
    EmbeddingError,
    EmbeddingRejectedError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
)
from context_search.domain.limits import LONGEST_RETRY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from context_search.domain.billed import OnBilled
    from context_search.ports.outside import Embedder


_LOGGERS_THAT_MAY_QUOTE_TEXT = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai")
KEY_REFUSED = (401, 403)
LATE = (408, 504)
"""What litellm's ``Timeout`` carries, and gateways say."""
T = TypeVar("T")


class LitellmEmbedder:
    """Vectors of one model, in batches; no retries; safe to share between threads.

    ``model`` is litellm's name (``text-embedding-3-small``, ``voyage/voyage-3``, ``local/...``),
    ``dimensions`` the length of every vector: litellm tells it to the providers that take it and
    drops it for the others. ``batch_size`` is the most texts per request. ``query_params`` and
    ``passage_params`` are further arguments of ``litellm.embedding`` for the two kinds of text
    (``{"input_type": "query"}``). ``prepare`` runs once, after litellm is imported and before the
    first request: it may register a custom provider. ``instead_of`` tells which key has taken the
    place of one that the provider refuses, if one has. ``on_billed`` is told the tokens of each
    reply.
    """

    def __init__(  # noqa: PLR0913 - each by its name, most with a default
        self,
        model: str,
        dimensions: int,
        *,
        batch_size: int = 100,
        query_params: Mapping[str, object] | None = None,
        passage_params: Mapping[str, object] | None = None,
        api_key: str | None = None,
        api_base: str | None = None,
        prepare: Callable[[], None] | None = None,
        instead_of: Callable[[str | None], str | None] = lambda _: None,
        on_billed: OnBilled = lambda _: None,
    ) -> None:
        self._model = model
        self._dimensions = dimensions
        self._batch_size = batch_size
        arguments: dict[str, object] = {
            "model": model,
            "dimensions": dimensions,
            "drop_params": True,
            "num_retries": 0,
            "max_retries": 0,
            "api_base": api_base,
        }
        self._query_arguments = arguments | dict(query_params or {})
        self._passage_arguments = arguments | dict(passage_params or {})
        self._query_key, self._passage_key = _key_of(query_params), _key_of(passage_params)
        self._api_key = api_key
        self._instead_of = instead_of
        self._on_billed = on_billed
        self._prepare = prepare
        self._litellm: Any = None
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """litellm's name of the model."""
        return self._model

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        return self._dimensions

    @property
    def passage_key(self) -> str:
        """Hash of ``passage_params``; empty without any."""
        return self._passage_key

    @property
    def query_key(self) -> str:
        """Hash of ``query_params``; empty without any."""
        return self._query_key

    def warm_up(self) -> None:
        """Imports litellm and runs ``prepare``."""
        with self._lock:
            if self._litellm is None:
                litellm = import_litellm()
                if self._prepare is not None:
                    self._prepare()
                gc.freeze()  # half a million objects stay: each full collection took 0.3 s
                self._litellm = litellm

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """One finite vector per text, in the same order.

        ``timeout_s`` bounds all requests together; the first call's import of litellm, which
        nothing can interrupt, is not counted. Raises the subclasses of EmbeddingError.
        """
        return self._embed_all(texts, self._passage_arguments, timeout_s)

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """The vectors of several queries; deadline and errors as in ``embed_passages``."""
        return self._embed_all(texts, self._query_arguments, timeout_s)

    def _embed_all(
        self, texts: Sequence[str], arguments: Mapping[str, object], timeout_s: float
    ) -> list[list[float]]:
        if not texts:
            return []
        self.warm_up()
        deadline = time.monotonic() + timeout_s
        vectors: list[list[float]] = []
        for first in range(0, len(texts), self._batch_size):
            batch = list(texts[first : first + self._batch_size])
            vectors += self._embed(batch, arguments, deadline)
        return vectors

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        """The vector of one query; deadline and errors as in ``embed_passages``."""
        self.warm_up()
        return self._embed([text], self._query_arguments, time.monotonic() + timeout_s)[0]

    def _embed(
        self, texts: list[str], arguments: Mapping[str, object], deadline: float
    ) -> list[list[float]]:
        key = self._api_key
        reply = self._reply(texts, arguments, key, deadline)
        if refuses_key(reply) and (other := self._instead_of(key)) is not None:
            self._api_key = other
            reply = self._reply(texts, arguments, other, deadline)
        if isinstance(reply, Exception):
            # Raised outside of the handler: a chained litellm error would carry text into logs.
            raise _failure(reply)
        self._on_billed(Billed(tokens=tokens_of(reply)))
        return vectors_of(reply, len(texts), self._dimensions)

    def _reply(
        self,
        texts: list[str],
        arguments: Mapping[str, object],
        api_key: str | None,
        deadline: float,
    ) -> Any:
        """What litellm gives, or what it raised."""
        timeout_s = deadline - time.monotonic()
        if timeout_s <= 0:
            raise EmbeddingTimeoutError("the deadline passed before the request was sent")
        given = {"api_key": api_key, **arguments}
        try:
            return self._litellm.embedding(input=texts, timeout=timeout_s, **given)
        except Exception as error:  # noqa: BLE001 litellm lets errors of any library through
            return error


def _key_of(params: Mapping[str, object] | None) -> str:
    if not params:
        return ""
    text = json.dumps(dict(params), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def tokens_of(reply: Any) -> int:
    """The tokens that a reply says it is charged for; 0 where it says nothing."""
    usage = getattr(reply, "usage", None)
    told = getattr(usage, "total_tokens", None) or getattr(usage, "prompt_tokens", None)
    return told if isinstance(told, int) else 0


def vectors_of(reply: Any, count: int, dimensions: int) -> list[list[float]]:
    """The reply's vectors in the order of the texts; EmbeddingDimensionMismatchError if wrong."""
    try:
        items = reply.data or ()
        if len(items) != count:
            raise EmbeddingDimensionMismatchError(f"{len(items)} vectors for {count} texts")
        return [_checked(item["embedding"], dimensions) for item in _in_order(items)]
    except (AttributeError, KeyError, TypeError):
        raise EmbeddingDimensionMismatchError("the reply is no list of number lists") from None


def _in_order(items: Sequence[Any]) -> Sequence[Any]:
    """Sorted by ``index`` where the provider gives one; then each index has to be there once."""
    indexes = [item.get("index") for item in items]
    if all(index is None for index in indexes):
        return items
    if sorted(indexes) != list(range(len(items))):
        raise EmbeddingDimensionMismatchError("the reply's indexes are not each there once")
    return sorted(items, key=lambda item: int(item["index"]))


def _checked(vector: Any, dimensions: int) -> list[float]:
    if len(vector) != dimensions:
        raise EmbeddingDimensionMismatchError(f"{len(vector)} numbers, {dimensions} expected")
    # A sum is finite only if all of them are. It may overflow where they are.
    if not math.isfinite(sum(vector)) and not all(map(math.isfinite, vector)):
        raise EmbeddingDimensionMismatchError("the reply holds NaN or infinity")
    return list(vector)


def import_litellm() -> Any:
    """Returns litellm, told to fetch nothing, print nothing, log no text and retry nothing."""
    # Read at import: its price map would be downloaded, and a .env above site-packages loaded.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # noqa: TID251 litellm's switch
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # noqa: TID251 litellm's switch
    # What it writes and raises is dropped here; to look for secrets in a page of 1 MB took it 20 s.
    os.environ.setdefault("LITELLM_DISABLE_REDACT_SECRETS", "true")  # noqa: TID251 litellm's switch
    # Nobody asked for its log of successes: a thread of it took a fifth of what indexing takes.
    os.environ.setdefault("LOGGING_EXECUTOR_MAX_PENDING_TASKS", "0")  # noqa: TID251 litellm's switch
    for name in _LOGGERS_THAT_MAY_QUOTE_TEXT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    # For OpenAI litellm reads ``max_retries=0`` as "not given" and takes this default instead.
    litellm.DEFAULT_MAX_RETRIES = 0
    # litellm keeps a client, so a connection, per timeout, and no deadline is like another.
    if litellm.client_session is None:
        litellm.client_session = importlib.import_module("httpx").Client(follow_redirects=True)
        atexit.register(litellm.client_session.close)
        atexit.register(litellm.in_memory_llm_clients_cache.flush_cache)  # closes its clients
    return litellm


def refuses_key(reply: Any) -> bool:
    """Says whether what litellm raised is the refusal of a key."""
    return isinstance(reply, Exception) and getattr(reply, "status_code", None) in KEY_REFUSED


def _failure(error: Exception) -> EmbeddingError:
    """Our error for one of litellm's, whose own message may quote the text and is dropped."""
    status = getattr(error, "status_code", None)
    message = f"{type(error).__name__} with status {status}"
    if status in LATE:
        return EmbeddingTimeoutError(message)
    # The key is refused, not the text, and another takes its place.
    if status not in (*KEY_REFUSED, 429) and status in range(400, 500):
        return EmbeddingRejectedError(message)
    return EmbeddingUnavailableError(message, retry_after_s=_retry_after_s(error))


def _retry_after_s(error: Exception) -> float | None:
    """The wait that the provider asked for, within reason: ``retry-after-ms`` or in seconds."""
    response_headers = getattr(getattr(error, "response", None), "headers", None)
    for headers in (getattr(error, "litellm_response_headers", None), response_headers):
        lowered = {str(name).lower(): value for name, value in dict(headers or {}).items()}
        for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            with suppress(KeyError, ValueError):
                if (seconds := float(lowered[name]) * unit_s) >= 0:
                    return min(seconds, LONGEST_RETRY_S)
    return None


@dataclass(frozen=True, slots=True)
class BoundedEmbedder:
    """The port ``Embedder``: asks in a thread and leaves it behind when time is up.

    A timeout of the provider's client does not count a name that does not resolve. The first import
    of its library is not counted here either: on a cold start it took the time of the question.
    """

    inner: Embedder
    threads: ThreadPoolExecutor

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def passage_key(self) -> str:
        return self.inner.passage_key

    @property
    def query_key(self) -> str:
        return self.inner.query_key

    def warm_up(self) -> None:
        self.inner.warm_up()

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """Not bounded further."""
        return self.inner.embed_passages(texts, timeout_s=timeout_s)

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """Not bounded further."""
        return self.inner.embed_queries(texts, timeout_s=timeout_s)

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        self.inner.warm_up()
        ask = partial(self.inner.embed_query, text, timeout_s=timeout_s)
        try:
            return in_time(self.threads, ask, timeout_s)
        except TimeoutError:
            raise EmbeddingTimeoutError("no vector of the question in time") from None


def in_time(threads: ThreadPoolExecutor, ask: Callable[[], T], timeout_s: float) -> T:
    """Returns what ``ask`` does; raises TimeoutError when time is up, and leaves it behind."""
    pending = threads.submit(ask)
    try:
        return pending.result(timeout_s)
    except TimeoutError:
        pending.cancel()
        raise
