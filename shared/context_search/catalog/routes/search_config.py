"""What ``search_config`` of a Search Tool takes, and what is answered of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, model_validator

from context_search.core.config import (
    MAX_PREVIEW,
    MAX_TOP_K,
    Fusion,
    IndexConfig,
    Model,
    Rerank,
    SearchConfig,
    Storage,
    Strategy,
    both_weights,
)
from context_search.core.errors import IndexSettingFixedError, InvalidInputError
from context_search.core.filters import parse_names, to_mapping, to_text
from context_search.web.fields import (
    AnswerModel,
    Body,
    Count,
    Filterable,
    Filtered,
    FilterObject,
    KnownId,
    LeftOut,
    Listed,
    NotNull,
    RankingBody,
    RerankBody,
    Share,
    Weight,
    example,
    filter_of,
    source,
)

_DEFAULTS = SearchConfig()


class SearchConfigBody(Body):
    """How a Search Tool indexes and ranks; what is left out keeps the default that measured best.

    ``enable_hybrid`` false is an older word for the strategy ``semantic``. Without the weights of
    both legs these are found; where one is given, the other is 0.2 (vectors) or 0.8 (keywords).
    """

    model_config = example(strategy="hybrid", chunk_threshold=1_000)
    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K)] = 5
    strategy: Strategy | None = None
    enable_hybrid: bool | None = None
    storage: Storage = "full"
    fusion: Fusion = "convex"
    vector_weight: Weight | None = None
    bm25_weight: Weight | None = None
    recency_weight: Weight = _DEFAULTS.recency_weight
    chunk_threshold: Annotated[int, Field(ge=1, le=50_000_000)] = 10_000
    chunk_size: Annotated[int, Field(ge=100, le=8_000)] = 1_000
    chunk_overlap: Annotated[int, Field(ge=0, le=4_000)] = 100
    include_metadata: bool = True
    max_chunk_preview: Annotated[int, Field(ge=1, le=MAX_PREVIEW)] | None = None
    rerank: RerankBody | None = None
    filterable: Filterable = Field(default_factory=list)
    where: Filtered = None
    agents_may_filter: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> SearchConfigBody:
        if self.chunk_overlap > self.chunk_size // 2:
            raise ValueError("chunk_overlap must be at most half of chunk_size")
        if (self.vector_weight, self.bm25_weight) == (0, 0):
            raise ValueError("vector_weight and bm25_weight must not both be 0")
        if None not in (self.strategy, self.enable_hybrid):
            raise ValueError("strategy and enable_hybrid say the same thing: give one of them")
        if self.agents_may_filter and not self.filterable:
            raise ValueError("agents_may_filter needs fields that filterable names")
        return self

    def to_index_config(self, model: Model) -> IndexConfig:
        """Returns what the index is built with, on the deployment's embedding model."""
        return IndexConfig(
            model=model.name,
            dimensions=model.dimensions,
            window_tokens=model.window_tokens,
            precision=model.precision,
            storage=self.storage,
            threshold=self.chunk_threshold,
            chunk_size=self.chunk_size,
            chunk_overlap=self.chunk_overlap,
        )

    def to_search_config(self) -> SearchConfig:
        """Returns how the tool searches. Raises FilterInvalidError."""
        where = filter_of(self.where)
        strategy: Strategy = "semantic" if self.enable_hybrid is False else "hybrid"
        vector, bm25 = both_weights(self.vector_weight, self.bm25_weight)
        return SearchConfig(
            top_k=self.top_k,
            strategy=self.strategy or strategy,
            fusion=self.fusion,
            vector_weight=vector,
            bm25_weight=bm25,
            recency_weight=self.recency_weight,
            include_metadata=self.include_metadata,
            max_chunk_preview=self.max_chunk_preview,
            rerank=None if self.rerank is None else Rerank(**dict(self.rerank)),
            filterable=parse_names(self.filterable, where),
            where=where,
            agents_may_filter=self.agents_may_filter,
        )


_FIXED = {
    "storage": "storage",
    "chunk_threshold": "threshold",
    "chunk_size": "chunk_size",
    "chunk_overlap": "chunk_overlap",
}
"""Settings that make the index, and what ``IndexConfig`` calls them."""


class ChangeSearchConfigBody(RankingBody):
    """Changes of ``search_config``: of what ranks and answers, not of what makes the index.

    Settings of the index are taken as they are, so that what was read may be sent back.
    """

    model_config = example(top_k=10, fusion="linear")
    top_k: Annotated[Annotated[int, Field(ge=1, le=MAX_TOP_K)] | LeftOut, NotNull] = None
    include_metadata: Annotated[bool | LeftOut, NotNull] = None
    max_chunk_preview: Annotated[int, Field(ge=1, le=MAX_PREVIEW)] | None = None
    filterable: Annotated[Filterable | LeftOut, NotNull] = None
    where: FilterObject | None = None
    agents_may_filter: Annotated[bool | LeftOut, NotNull] = None
    storage: Annotated[Storage | LeftOut, NotNull] = None
    chunk_threshold: Annotated[int | LeftOut, NotNull] = None
    chunk_size: Annotated[int | LeftOut, NotNull] = None
    chunk_overlap: Annotated[int | LeftOut, NotNull] = None

    def check_index(self, index: IndexConfig) -> None:
        """Raises IndexSettingFixedError for a setting that the index was not built with."""
        for name in [each for each in _FIXED if each in self.model_fields_set]:
            if getattr(self, name) != getattr(index, _FIXED[name]):
                raise IndexSettingFixedError(
                    f"search_config.{name} makes the index: create another tool with it"
                )

    def applied_to(self, search: SearchConfig) -> SearchConfig:
        """Returns the settings with the body's changes.

        Raises InvalidInputError and FilterInvalidError.
        """
        own = self.model_fields_set - RankingBody.model_fields.keys() - _FIXED.keys()
        given: dict[str, Any] = {name: getattr(self, name) for name in own}
        if "where" in given:
            given["where"] = filter_of(self.where)
        changed = replace(self.change().applied_to(search), **given)
        if changed.agents_may_filter and not changed.filterable:
            raise InvalidInputError("agents_may_filter needs fields that filterable names")
        return replace(changed, filterable=parse_names(changed.filterable, changed.where))


class RerankAnswer(AnswerModel):
    """Who gives a second opinion on the first hits, and what it counts."""

    model: str
    candidates: KnownId
    blend: Share


_OBJECT_OR_NULL: dict[str, Any] = {"anyOf": [{"type": "object"}, {"type": "null"}]}


class SearchConfigAnswer(AnswerModel):
    """Every setting that a create takes, as ``SearchConfigBody`` names them."""

    top_k: KnownId
    strategy: Strategy
    fusion: Fusion
    vector_weight: Share | None
    bm25_weight: Share | None
    recency_weight: Share
    include_metadata: bool
    max_chunk_preview: KnownId | None
    rerank: RerankAnswer | None
    filterable: Annotated[list[str], Listed]
    where: Annotated[dict[str, Any] | None, WithJsonSchema(_OBJECT_OR_NULL)]
    agents_may_filter: bool
    storage: Storage
    chunk_threshold: Annotated[KnownId, source("threshold")]
    chunk_size: KnownId
    chunk_overlap: Count

    @classmethod
    def of(cls, search: SearchConfig, index: IndexConfig) -> SearchConfigAnswer:
        """Returns how a tool searches, and what its index is built with."""
        where = search.where and json.loads(to_text(to_mapping(search.where)))
        return cls.about(search, index, where=where)
