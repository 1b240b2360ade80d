"""The port ``Embedder`` over whichever client asks a provider: batches, deadlines, keys, checks.

Providers and clients pass on whatever they like, so every reply is checked here.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from context_search.core.errors import EmbeddingDimensionMismatchError
from context_search.integrations.models.provider_calls import EMBEDDING, ProviderKey, Refusal
from context_search.integrations.ports import Billed, OnBilled

MOST_TOKENS = 1 << 40
"""More than any request may have: a number beyond it is no count of tokens."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """A reply: pairs of the place of a text, None where it is not told, and what should be numbers.

    ``tokens`` are those that it says it is charged for, whatever it says.
    """

    pairs: Sequence[tuple[object, object]]
    tokens: object


class ProviderEmbedder(ABC):
    """Vectors of one model, in batches; no retries; safe to share between threads.

    ``model`` is litellm's name (``text-embedding-3-small``, ``voyage/voyage-3``, ``local/...``),
    ``dimensions`` the length of every vector. ``batch_size`` is the most texts per request.
    ``query_params`` and ``passage_params`` are what is asked beside the two kinds of text
    (``{"input_type": "query"}``). ``instead_of`` tells which key has taken the place of one that
    the provider refuses, if one has. ``on_billed`` is told the tokens of each reply.
    """

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        batch_size: int = 100,
        query_params: Mapping[str, object] | None = None,
        passage_params: Mapping[str, object] | None = None,
        api_key: str | None = None,
        instead_of: Callable[[str | None], str | None] = lambda _: None,
        on_billed: OnBilled = lambda _: None,
    ) -> None:
        self._model = model
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._query_params, self._passage_params = query_params or {}, passage_params or {}
        self._query_key, self._passage_key = _key_of(query_params), _key_of(passage_params)
        self._key = ProviderKey(api_key, instead_of)
        self._on_billed = on_billed

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

    @abstractmethod
    def warm_up(self) -> None:
        """Does what the first call would do beside its work, without being in its time."""

    @abstractmethod
    def _ask(
        self,
        texts: Sequence[str],
        params: Mapping[str, object],
        api_key: str | None,
        timeout_s: float,
    ) -> Vectors | Refusal:
        """Sends one request. Raises EmbeddingDimensionMismatchError for what is no reply."""

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """One finite vector per text, in the same order.

        ``timeout_s`` bounds all requests together; what ``warm_up`` does, which nothing can
        interrupt, is not counted. Raises the subclasses of EmbeddingError.
        """
        return self._embed_all(texts, self._passage_params, timeout_s)

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """The vectors of several queries; deadline and errors as in ``embed_passages``."""
        return self._embed_all(texts, self._query_params, timeout_s)

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        """The vector of one query; deadline and errors as in ``embed_passages``."""
        [vector] = self._embed_all([text], self._query_params, timeout_s)
        return vector

    def _embed_all(
        self, texts: Sequence[str], params: Mapping[str, object], timeout_s: float
    ) -> list[list[float]]:
        if not texts:
            return []
        self.warm_up()
        deadline = time.monotonic() + timeout_s
        vectors: list[list[float]] = []
        for first in range(0, len(texts), self._batch_size):
            batch = list(texts[first : first + self._batch_size])
            vectors += self._embed(batch, params, deadline)
        return vectors

    def _embed(
        self, texts: list[str], params: Mapping[str, object], deadline: float
    ) -> list[list[float]]:
        def ask(api_key: str | None) -> Vectors | Refusal:
            return self._ask(texts, params, api_key, EMBEDDING.time_until(deadline))

        reply = self._key.answer(ask)
        if isinstance(reply, Refusal):
            # Raised outside of the handler: a chained error of a client would carry text into logs.
            raise EMBEDDING.of(reply)
        self._on_billed(Billed(tokens=_counted(reply.tokens)))
        return _checked(reply.pairs, len(texts), self._dimensions)


def _key_of(params: Mapping[str, object] | None) -> str:
    if not params:
        return ""
    text = json.dumps(dict(params), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _counted(reported: object) -> int:
    """Returns a number of tokens; 0 for what is none."""
    return reported if type(reported) is int and 0 <= reported <= MOST_TOKENS else 0


def _checked(
    pairs: Sequence[tuple[object, object]], count: int, dimensions: int
) -> list[list[float]]:
    """The vectors in the order of the texts."""
    if len(pairs) != count:
        raise EmbeddingDimensionMismatchError(f"{len(pairs)} vectors for {count} texts")
    try:
        return [_numbers(vector, dimensions) for vector in _in_order(pairs)]
    except TypeError:
        raise EmbeddingDimensionMismatchError("the reply is no list of number lists") from None


def _in_order(pairs: Sequence[tuple[object, object]]) -> list[object]:
    """Sorted by place where the provider gives one; then each has to be there once."""
    places = dict(pairs)
    if places.keys() == {None}:
        return [vector for _, vector in pairs]
    if places.keys() != set(range(len(pairs))):
        raise EmbeddingDimensionMismatchError("the reply's indexes are not each there once")
    return [places[place] for place in range(len(pairs))]


def _numbers(vector: object, dimensions: int) -> list[float]:
    if not isinstance(vector, Sequence) or isinstance(vector, str):
        raise TypeError
    if len(vector) != dimensions:
        error = EmbeddingDimensionMismatchError(f"{len(vector)} numbers, {dimensions} expected")
        error.found = len(vector)
        raise error
    # A sum is finite only if all of them are. It may overflow where they are.
    if not math.isfinite(sum(vector)) and not all(map(math.isfinite, vector)):
        raise EmbeddingDimensionMismatchError("the reply holds NaN or infinity")
    return list(vector)
