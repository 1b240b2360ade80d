"""The port ``Reranker`` over litellm: any provider it knows, chosen by the model's name.

litellm passes on whatever a provider answers, so every reply is checked here. What it raises quotes
the provider, who quotes the question: of that only the class and the status are kept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from context_search.core.errors import RerankUnavailableError
from context_search.integrations.bounded_http import ending_within
from context_search.integrations.models.litellm_embedder import import_litellm, refusal_of
from context_search.integrations.models.provider_calls import RERANKING, ProviderKey, Refusal
from context_search.integrations.ports import Billed, OnBilled

MAX_SCORE = 1e6
"""Largest score that can be one: beyond it, differences of two are no use."""


class LitellmReranker:
    """Scores of one model; one request a call, no retries; safe to share between threads.

    ``model`` is litellm's name (``cohere/rerank-v3.5``, ``voyage/rerank-2.5``). ``instead_of``
    tells which key has taken the place of one that the provider refuses, if one has.
    ``on_billed`` is told what each reply is charged.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        api_base: str | None = None,
        instead_of: Callable[[str | None], str | None] = lambda _: None,
        on_billed: OnBilled = lambda _: None,
    ) -> None:
        self._model = model
        self._arguments = {
            "model": model,
            "api_base": api_base,
            "return_documents": False,
            "drop_params": True,
            "num_retries": 0,
            "max_retries": 0,
        }
        self._key = ProviderKey(api_key, instead_of)
        self._on_billed = on_billed
        self._litellm: Any = None
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """litellm's name of the model."""
        return self._model

    def warm_up(self) -> None:
        """Imports litellm."""
        with self._lock:
            self._litellm = self._litellm or import_litellm()

    def scores(self, question: str, texts: Sequence[str], *, timeout_s: float) -> dict[int, float]:
        """``timeout_s`` bounds what litellm bounds, without its import; see BoundedReranker."""
        self.warm_up()
        deadline = time.monotonic() + timeout_s
        asked = {"query": question, "documents": list(texts), "top_n": len(texts)}

        def ask(api_key: str | None) -> Any:
            """What litellm gives, or a Refusal."""
            timeout_s = RERANKING.time_until(deadline)
            try:
                with ending_within(timeout_s):
                    return self._litellm.rerank(
                        **asked, **self._arguments, api_key=api_key, timeout=timeout_s
                    )
            except Exception as error:  # noqa: BLE001 litellm lets errors of any library through
                return refusal_of(error)

        reply = self._key.answer(ask)
        if isinstance(reply, Refusal):
            # Raised outside of the handler: a chained litellm error would carry text into logs.
            raise RERANKING.of(reply)
        self._on_billed(billed_of(reply))
        return scores_of(reply, len(texts))


def scores_of(reply: Any, count: int) -> dict[int, float]:
    """The reply's scores by place of the text; RerankUnavailableError if they cannot be that."""
    try:
        pairs = [(item["index"], item["relevance_score"]) for item in reply.results]
    except (AttributeError, KeyError, TypeError):
        raise RerankUnavailableError("the reply is no list of scores") from None
    if not 0 < len(pairs) <= count:
        raise RerankUnavailableError(f"{len(pairs)} scores for {count} texts")
    scores = {place: score for place, score in pairs if _is_place(place, count)}
    if len(scores) < len(pairs):
        raise RerankUnavailableError("the reply's places are not each one of a text")
    if not all(map(_is_score, scores.values())):
        raise RerankUnavailableError("the reply holds what is no score")
    return scores


def _is_place(value: object, count: int) -> bool:
    return type(value) is int and 0 <= value < count


def _is_score(value: object) -> bool:
    # NaN is neither less nor greater than anything.
    return type(value) in (int, float) and abs(value) <= MAX_SCORE  # type: ignore[arg-type]


def billed_of(reply: Any) -> Billed:
    """One request, and the tokens that the reply tells: ``search_units`` are tokens with some."""
    meta = getattr(reply, "meta", None) or {}
    reported = (meta.get("billed_units") or {}).get("total_tokens")
    reported = reported or (meta.get("tokens") or {}).get("input_tokens")
    return Billed(
        reranks=1, rerank_tokens=reported if isinstance(reported, int) and reported > 0 else 0
    )
