"""What an index is built with, and how a tool searches it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Literal, get_args

from context_search.domain.filters import (
    Filter,
    names_of,
    stored_filter,
    stored_names,
    to_mapping,
    to_text,
)

Storage = Literal["full", "lean"]
Strategy = Literal["hybrid", "semantic", "keyword"]
Fusion = Literal["convex", "rrf", "linear"]
Precision = Literal["f32", "f16"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
CHUNKER_VERSION = 2
"""Version of the cuts that ``domain/text/chunking.py`` makes."""
ANALYSIS_VERSION = 1
"""Version of the tokens that ``domain/text/analysis`` makes."""
MAX_TOP_K = 20
MAX_PREVIEW = 8_000


@dataclass(frozen=True, slots=True)
class IndexConfig:
    """Everything that decides which chunks and vectors come out of a text.

    Tools with equal configurations share an index. Lengths are code points; ``threshold`` is the
    shortest string that becomes a node. ``lean`` storage keeps tokens out of turbopuffer.
    ``window_tokens`` splits a chunk into windows with a vector each; 0: one vector a chunk.
    ``precision`` is what turbopuffer keeps of each number of a vector.
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
    precision: Precision = "f32"

    def to_json(self) -> str:
        """Returns the canonical JSON text: sorted keys, no spaces.

        ``precision`` is left out when it is ``f32``: releases before it wrote and read the text
        without it, and hashes stay the same.
        """
        given = asdict(self)
        if self.precision == "f32":
            del given["precision"]
        return json.dumps(given, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> IndexConfig:
        """Returns the configuration that ``to_json`` wrote."""
        return cls(**json.loads(text))

    @property
    def config_hash(self) -> str:
        """sha256 (hex) of the canonical JSON: equal for equal configurations."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model that this deployment builds indexes with.

    ``window_tokens``: how much text one vector can hold; 0: a whole chunk of any length. ``price``:
    per million tokens. ``precision``: what is kept of each number of its vectors.
    """

    name: str
    dimensions: int
    window_tokens: int = 0
    price: float | None = None
    precision: Precision = "f32"


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How a Search Tool ranks and answers; never an argument of an agent.

    ``top_k`` is the default for calls that name none. The weights are relative to each other;
    ``recency_weight`` counts in the fusion ``linear`` only.
    ``include_metadata`` false leaves hashes and storage names out of results;
    ``max_chunk_preview`` adds the first so many characters as ``preview``.
    Callers may filter by the fields that ``filterable`` names; ``where`` always holds, too.
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
    filterable: tuple[str, ...] = ()
    where: Filter | None = None

    @property
    def fields(self) -> frozenset[str]:
        """The names of all fields that the tool's index has to keep."""
        return names_of(self.where).union(self.filterable)

    def to_json(self) -> str:
        """Returns the canonical JSON text; without filters as releases before them wrote it."""
        given = asdict(self) | {"where": self.where and to_mapping(self.where)}
        for name in ("filterable", "where"):
            if not given[name]:
                del given[name]
        return to_text(given)

    @classmethod
    def from_stored(cls, stored: object) -> SearchConfig:
        """Returns the configuration of a stored JSON value, whoever wrote it.

        What is missing, or none of ours, keeps its default; a ``where`` that is no filter holds
        nowhere. ``enable_hybrid`` false is an older word for the strategy ``semantic``.
        """
        values = dict(stored) if isinstance(stored, Mapping) else {}
        filterable, where = (
            stored_names(values.get("filterable")),
            stored_filter(values.get("where")),
        )
        values = {
            name: float(value) if isinstance(value, Decimal) else value
            for name, value in values.items()
        }
        if values.get("enable_hybrid") is False:
            values.setdefault("strategy", "semantic")
        known = {name: value for name, value in values.items() if _is_valid(name, value)}
        return cls(**known, filterable=filterable, where=where)


def _is_valid(name: str, value: object) -> bool:
    """Whether a field of SearchConfig may have that value."""
    if name in ("strategy", "fusion"):
        return value in (STRATEGIES if name == "strategy" else get_args(Fusion))
    if name == "include_metadata" or isinstance(value, bool):
        return name == "include_metadata" and isinstance(value, bool)
    if name in ("vector_weight", "bm25_weight", "recency_weight"):
        return isinstance(value, int | float) and 0 <= value <= 1
    if name == "max_chunk_preview":
        return value is None or (isinstance(value, int) and 1 <= value <= MAX_PREVIEW)
    return name == "top_k" and isinstance(value, int) and 1 <= value <= MAX_TOP_K
