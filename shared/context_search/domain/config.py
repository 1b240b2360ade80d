"""What an index is built with, and how a tool searches it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from context_search.domain.analysis import ANALYSIS_VERSION
from context_search.domain.chunking import CHUNKER_VERSION

Storage = Literal["full", "lean"]
Strategy = Literal["hybrid", "semantic", "keyword"]
Fusion = Literal["convex", "rrf", "linear"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Everything that decides which chunks and vectors come out of a text.

    Tools with equal configurations share an index. Lengths are code points; ``threshold`` is the
    shortest string that becomes a node. ``lean`` storage keeps tokens out of turbopuffer.
    ``window_tokens`` splits a chunk into windows with a vector each; 0: one vector a chunk.
    """

    model: str
    dimensions: int
    storage: Storage = "full"
    threshold: int = 10_000
    chunk_size: int = 1_000
    chunk_overlap: int = 100
    window_tokens: int = 0
    chunker_version: int = CHUNKER_VERSION
    analysis_version: int = ANALYSIS_VERSION

    def to_json(self) -> str:
        """Returns the canonical JSON text: sorted keys, no spaces."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> IndexConfig:
        """Returns the configuration that ``to_json`` wrote."""
        return cls(**json.loads(text))

    @property
    def config_hash(self) -> str:
        """sha256 (hex) of the canonical JSON: equal for equal configurations."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How a Search Tool ranks and answers; never an argument of an agent.

    ``top_k`` is the default for calls that name none. The weights are relative to each other;
    ``recency_weight`` counts in the fusion ``linear`` only.
    ``include_metadata`` false leaves hashes and storage names out of results;
    ``max_chunk_preview`` adds the first so many characters as ``preview``.
    The default fusion and weights are those that measure best: docs/decisions/0013-quality.md.
    """

    top_k: int = 5
    strategy: Strategy = "hybrid"
    fusion: Fusion = "convex"
    vector_weight: float = 0.2
    bm25_weight: float = 0.8
    recency_weight: float = 0.1
    include_metadata: bool = True
    max_chunk_preview: int | None = None

    def to_json(self) -> str:
        """Returns the canonical JSON text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> SearchConfig:
        """Returns the configuration of a stored JSON object; what is missing keeps its default."""
        return cls(**values)  # type: ignore[arg-type]
