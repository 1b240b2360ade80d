"""The port ``Embedder`` over litellm: any provider it knows, chosen by the model's name.

Importing litellm takes 2 to 9 s of CPU, so it happens at the first call (or in ``warm_up``).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import logging
import os
import threading
from typing import TYPE_CHECKING, Any

from context_search.core.errors import EmbeddingDimensionMismatchError
from context_search.integrations.bounded_http import bounded, ending_within
from context_search.integrations.models.provider_calls import Refusal, retry_after_s
from context_search.integrations.models.provider_embedder import ProviderEmbedder, Vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LOGGERS_THAT_MAY_QUOTE_TEXT = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai")


class LitellmEmbedder(ProviderEmbedder):
    """Any model that litellm knows.

    litellm tells ``dimensions`` to the providers that take it and drops it for the others; the
    params are further arguments of ``litellm.embedding``. ``prepare`` runs once, after litellm is
    imported and before the first request: it may register a custom provider.
    """

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        api_base: str | None = None,
        prepare: Callable[[], None] | None = None,
        **more: Any,
    ) -> None:
        """``more`` are the arguments of ProviderEmbedder."""
        super().__init__(model, dimensions, **more)
        self._api_base = api_base
        self._prepare = prepare
        self._litellm: Any = None
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Imports litellm and runs ``prepare``."""
        with self._lock:
            if self._litellm is None:
                litellm = import_litellm()
                if self._prepare is not None:
                    self._prepare()
                gc.freeze()  # half a million objects stay: each full collection took 0.3 s
                self._litellm = litellm

    def _ask(
        self,
        texts: Sequence[str],
        params: Mapping[str, object],
        api_key: str | None,
        timeout_s: float,
    ) -> Vectors | Refusal:
        arguments: dict[str, object] = {
            "model": self.model,
            "dimensions": self.dimensions,
            "drop_params": True,
            "num_retries": 0,
            "max_retries": 0,
            "api_base": self._api_base,
            "api_key": api_key,
            **params,
        }
        try:
            with ending_within(timeout_s):
                reply = self._litellm.embedding(input=texts, timeout=timeout_s, **arguments)
        except Exception as error:  # noqa: BLE001 litellm lets errors of any library through
            return refusal_of(error)
        return Vectors(_pairs(reply), _tokens(reply))


def _pairs(reply: Any) -> list[tuple[object, object]]:
    try:
        return [(item.get("index"), item["embedding"]) for item in reply.data or ()]
    except (AttributeError, KeyError, TypeError):
        raise EmbeddingDimensionMismatchError("the reply is no list of number lists") from None


def _tokens(reply: Any) -> object:
    usage = getattr(reply, "usage", None)
    return getattr(usage, "total_tokens", None) or getattr(usage, "prompt_tokens", None)


def import_litellm() -> Any:
    """Returns litellm, told to fetch nothing, print nothing, log no text and retry nothing."""
    # Read at import: its price map would be downloaded, and a .env above site-packages loaded.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # noqa: TID251 litellm's switch
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # noqa: TID251 litellm's switch
    # What it writes and raises is dropped here; to look for secrets in a page of 1 MB took it 20 s.
    os.environ.setdefault("LITELLM_DISABLE_REDACT_SECRETS", "true")  # noqa: TID251 litellm's switch
    # Its log of successes is not needed. The thread that writes it took a fifth of indexing's time.
    os.environ.setdefault("LOGGING_EXECUTOR_MAX_PENDING_TASKS", "0")  # noqa: TID251 litellm's switch
    for name in _LOGGERS_THAT_MAY_QUOTE_TEXT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    # For OpenAI litellm reads ``max_retries=0`` as "not given" and takes this default instead.
    litellm.DEFAULT_MAX_RETRIES = 0
    # litellm keeps a client, so a connection, per timeout, and no deadline is like another.
    if litellm.client_session is None:
        litellm.client_session = _safe(importlib.import_module("httpx").Client())
        _make_clients_safe(litellm)
        atexit.register(litellm.client_session.close)
        atexit.register(litellm.in_memory_llm_clients_cache.flush_cache)  # closes its clients
    return litellm


def _make_clients_safe(litellm: Any) -> None:
    """Bounds the clients that litellm makes for the providers that it asks without an SDK."""
    handler: Any = importlib.import_module("litellm.llms.custom_httpx.http_handler").HTTPHandler
    create = handler.create_client
    handler.create_client = lambda self: _safe(create(self))
    _safe(litellm.module_level_client.client)


def _safe(client: Any) -> Any:
    # A redirect would hand texts to another host than the one that was chosen.
    client.follow_redirects = False
    return bounded(client, importlib.import_module("httpx"))


def refusal_of(error: Exception) -> Refusal:
    """What is kept of an error of litellm's, whose own message may quote the text."""
    status = getattr(error, "status_code", None)
    return Refusal(f"{type(error).__name__} with status {status}", status, _pause_s(error))


def _pause_s(error: Exception) -> float | None:
    response_headers = getattr(getattr(error, "response", None), "headers", None)
    for headers in (getattr(error, "litellm_response_headers", None), response_headers):
        lowered = {str(name).lower(): value for name, value in dict(headers or {}).items()}
        if (pause_s := retry_after_s(lowered)) is not None:
            return pause_s
    return None
