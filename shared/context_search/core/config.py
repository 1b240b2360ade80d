"""What an index is built with, and how a tool searches it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any, Literal, get_args

from context_search.core.errors import InvalidInputError
from context_search.core.filters import (
    Fields,
    Filter,
    matches,
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
WeightsFrom = Literal["tool", "calibration", "model"]

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)
CHUNKER_VERSION = 2
"""Version of the cuts that ``text/chunking.py`` makes."""
ANALYSIS_VERSION = 1
"""Version of the tokens that ``text/analysis`` makes."""
UNFILLED = 1.5
"""Windows of a full chunk, as a multiple of those that it would fill: docs/quality.md."""
MAX_TOP_K = 20
MAX_PREVIEW = 8_000
MAX_MODEL_NAME = 200
MAX_RERANKED = 50


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
        """Returns the canonical JSON text: sorted keys, no spaces."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> IndexConfig:
        """Returns the configuration that ``to_json`` wrote."""
        return cls(**json.loads(text))

    @property
    def most_windows(self) -> int:
        """Returns how many windows, so vectors, a chunk has at most, but for odd boundaries.

        A character is one token at most, and windows that end at good boundaries are not full.
        """
        if not 0 < self.window_tokens < self.chunk_size:
            return 1
        return math.ceil(UNFILLED * self.chunk_size / self.window_tokens)

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


ONE_GIVEN = (0.2, 0.8)
"""Weights of vectors and of keywords: what one of them is where only the other one is given."""


def both_weights(
    vector: float | None, bm25: float | None
) -> tuple[float, float] | tuple[None, None]:
    """Returns two weights where one is given at least, and none where none is.

    >>> both_weights(1.0, None), both_weights(None, None)
    ((1.0, 0.8), (None, None))
    """
    if vector is None and bm25 is None:
        return None, None
    return ONE_GIVEN[0] if vector is None else vector, ONE_GIVEN[1] if bm25 is None else bm25


@dataclass(frozen=True, slots=True)
class Weights:
    """What the legs count in a fusion, relative to each other, and where that comes from.

    ``tool``: its configuration. ``calibration``: what was found out about the index. ``model``:
    what is known of its model.
    """

    vector: float
    bm25: float
    recency: float
    source: WeightsFrom


@dataclass(frozen=True, slots=True)
class Rerank:
    """A second opinion on the first ``candidates`` hits (1 to 50), by a model of the deployment's.

    ``model`` is litellm's name. ``blend`` (0..1) is what its opinion counts in a score.
    """

    model: str
    candidates: int = 20
    blend: float = 0.5

    @classmethod
    def from_stored(cls, stored: object) -> Rerank | None:
        """Returns what a stored JSON value says, None without a model; see ``SearchConfig``."""
        values = stored if isinstance(stored, Mapping) else {}
        known = {name: value for name, value in values.items() if _is_valid_rerank(name, value)}
        return cls(**known) if "model" in known else None


def _is_valid_rerank(name: str, value: object) -> bool:
    """Whether a field of Rerank may have that value."""
    if name == "model":
        return isinstance(value, str) and 1 <= len(value) <= MAX_MODEL_NAME
    if name == "blend":
        return _is_share(value)
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return name == "candidates" and is_count and 1 <= value <= MAX_RERANKED  # type: ignore[operator]


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How a Search Tool ranks and answers; never an argument of an agent.

    ``top_k`` is the default for calls that name none. The weights of both legs are relative to each
    other; None, for both or neither: what the index was found to need (``Weights``).
    ``recency_weight`` counts in the fusion ``linear`` only.
    ``include_metadata`` false leaves hashes and storage names out of results;
    ``max_chunk_preview`` adds the first so many characters as ``preview``.
    ``rerank`` None: no model reranks.
    Callers may filter by the fields that ``filterable`` names, agents over MCP only with
    ``agents_may_filter``; ``where`` always holds, too.
    The default fusion is the one that measures best: docs/decisions/0013-quality.md.
    """

    top_k: int = 5
    strategy: Strategy = "hybrid"
    fusion: Fusion = "convex"
    vector_weight: float | None = None
    bm25_weight: float | None = None
    recency_weight: float = 0.1
    include_metadata: bool = True
    max_chunk_preview: int | None = None
    rerank: Rerank | None = None
    filterable: tuple[str, ...] = ()
    where: Filter | None = None
    agents_may_filter: bool = False

    @property
    def agents_fields(self) -> tuple[str, ...]:
        """The names of the fields that agents may filter by."""
        return self.filterable if self.agents_may_filter else ()

    def shown_fields(self, fields: Fields) -> Fields | None:
        """Returns the filterable fields of a string; None for one that ``where`` hides."""
        if self.where is not None and not matches(self.where, fields):
            return None
        return {name: fields[name] for name in self.filterable if name in fields}

    @property
    def fields(self) -> frozenset[str]:
        """The names of all fields that the tool's index has to keep."""
        return names_of(self.where).union(self.filterable)

    def to_json(self) -> str:
        """Returns the canonical JSON text."""
        return to_text({**asdict(self), "where": self.where and to_mapping(self.where)})

    @classmethod
    def from_stored(cls, stored: object) -> SearchConfig:
        """Returns the configuration of a stored JSON value, which any program may have written.

        A missing or unknown value keeps its default. A ``where`` that is no filter holds nowhere.
        ``enable_hybrid`` false is an older word for the strategy ``semantic``.
        """
        values = _with_floats(stored)
        filterable = stored_names(values.get("filterable"))
        where = stored_filter(values.get("where"))
        if values.get("enable_hybrid") is False:
            values.setdefault("strategy", "semantic")
        rerank = Rerank.from_stored(_with_floats(values.get("rerank")))
        known = {name: value for name, value in values.items() if _is_valid(name, value)}
        given = cls(**known, rerank=rerank, filterable=filterable, where=where)
        vector, bm25 = both_weights(given.vector_weight, given.bm25_weight)
        return replace(given, vector_weight=vector, bm25_weight=bm25)


@dataclass(frozen=True, slots=True)
class RankingChange:
    """Other values for some settings of a ranking, by the name of the setting."""

    values: tuple[tuple[str, Any], ...]

    def applied_to(self, search: SearchConfig) -> SearchConfig:
        """Returns the settings with the change; weights are given for both legs, or for none.

        Raises InvalidInputError when both would be 0.
        """
        changed = replace(search, **dict(self.values))
        vector, bm25 = both_weights(changed.vector_weight, changed.bm25_weight)
        if (vector, bm25) == (0, 0):
            raise InvalidInputError("vector_weight and bm25_weight must not both be 0")
        return replace(changed, vector_weight=vector, bm25_weight=bm25)


def _with_floats(stored: object) -> dict[str, Any]:
    """Returns the members of a stored object, with the numbers that JSON writes with a point."""
    values = stored if isinstance(stored, Mapping) else {}
    return {
        name: float(value) if isinstance(value, Decimal) else value
        for name, value in values.items()
    }


def _is_valid(name: str, value: object) -> bool:
    """Whether a field of SearchConfig, but ``rerank`` and filters, may have that value."""
    if name in ("strategy", "fusion"):
        return value in (STRATEGIES if name == "strategy" else get_args(Fusion))
    is_switch = name in ("include_metadata", "agents_may_filter")
    if is_switch or isinstance(value, bool):
        return is_switch and isinstance(value, bool)
    if name in ("vector_weight", "bm25_weight", "recency_weight"):
        return _is_share(value)
    if name == "max_chunk_preview":
        return value is None or (isinstance(value, int) and 1 <= value <= MAX_PREVIEW)
    return name == "top_k" and isinstance(value, int) and 1 <= value <= MAX_TOP_K
