"""The bodies that the HTTP API takes. Unknown fields are refused, nothing is coerced."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from context_search.domain.config import (
    MAX_PREVIEW,
    MAX_TOP_K,
    Fusion,
    IndexConfig,
    SearchConfig,
    Storage,
    Strategy,
)
from context_search.domain.text.plain_text import HIDDEN_IN_LINE, HIDDEN_IN_TEXT, hidden_character
from context_search.services.indexing.rebuild import Model

Id = Annotated[int, Field(ge=1, le=2**63 - 1)]


def _one_line(text: str) -> str:
    return _readable(text, hidden_character(text))


def _lines(text: str) -> str:
    return _readable(text, hidden_character(text, may_have_lines=True))


def _readable(text: str, hidden: str | None) -> str:
    if hidden is not None:
        raise ValueError(f"{hidden} is a control or invisible character")
    return text


# Said to clients, too: what a check of ours refuses is no surprise to them.
_ONE_LINE: dict[str, JsonValue] = {"pattern": f"^[^{HIDDEN_IN_LINE}]*$"}
_LINES: dict[str, JsonValue] = {"pattern": f"^[^{HIDDEN_IN_TEXT}]*$"}
Name = Annotated[
    str,
    Field(min_length=1, max_length=200, json_schema_extra=_ONE_LINE),
    AfterValidator(_one_line),
]
ToolName = Annotated[
    str,
    Field(min_length=1, max_length=128, json_schema_extra=_ONE_LINE),
    AfterValidator(_one_line),
]
Description = Annotated[
    str, Field(max_length=4_000, json_schema_extra=_LINES), AfterValidator(_lines)
]
# Said to clients only: the service answers a broken pointer with a code of its own.
_POINTER_SCHEMA: dict[str, JsonValue] = {"pattern": "^(/([^~/]|~[01])*)*$"}
_PART_SCHEMA: dict[str, JsonValue] = {"pattern": "^(/([^~/]|~[01])*)+$"}
JsonPointer = Annotated[str, Field(max_length=100_000, json_schema_extra=_POINTER_SCHEMA)]
# Percent-encoded it is up to twelve times as long, and servers take about 64 kB of a URL.
PointerInUrl = Annotated[
    str, Query(alias="pointer", max_length=5_200, json_schema_extra=_POINTER_SCHEMA)
]
PointerToPart = Annotated[
    str,
    Query(alias="pointer", min_length=1, max_length=5_200, json_schema_extra=_PART_SCHEMA),
]
Weight = Annotated[float, Field(ge=0, le=1)]

_DEFAULTS = SearchConfig()


class Body(BaseModel):
    """What every body is: closed and strict."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _is_object(cls, given: object) -> object:
        # FastAPI lets pydantic read attributes, so that a number would be an empty body.
        if not isinstance(given, dict):
            raise ValueError("Input should be an object")
        return given


class CreateProjectBody(Body):
    """``POST /api/v1/projects``"""

    name: Name


class CreateTableBody(Body):
    """``POST /api/v1/tables``: ``data`` is any JSON value."""

    project_id: Id
    name: Name
    description: Description | None = None
    data: object


class SearchConfigBody(Body):
    """How a Search Tool indexes and ranks; what is left out keeps the default that measured best.

    ``enable_hybrid`` false is an older word for the strategy ``semantic``.
    """

    top_k: Annotated[int, Field(ge=1, le=MAX_TOP_K)] = 5
    strategy: Strategy | None = None
    enable_hybrid: bool | None = None
    storage: Storage = "full"
    fusion: Fusion = "convex"
    vector_weight: Weight = _DEFAULTS.vector_weight
    bm25_weight: Weight = _DEFAULTS.bm25_weight
    recency_weight: Weight = _DEFAULTS.recency_weight
    chunk_threshold: Annotated[int, Field(ge=1, le=50_000_000)] = 10_000
    chunk_size: Annotated[int, Field(ge=100, le=8_000)] = 1_000
    chunk_overlap: Annotated[int, Field(ge=0, le=4_000)] = 100
    include_metadata: bool = True
    max_chunk_preview: Annotated[int, Field(ge=1, le=MAX_PREVIEW)] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> SearchConfigBody:
        if self.chunk_overlap > self.chunk_size // 2:
            raise ValueError("chunk_overlap must be at most half of chunk_size")
        if self.vector_weight + self.bm25_weight == 0:
            raise ValueError("vector_weight and bm25_weight must not both be 0")
        if None not in (self.strategy, self.enable_hybrid):
            raise ValueError("strategy and enable_hybrid say the same thing: give one of them")
        return self

    def to_index_config(self, model: Model) -> IndexConfig:
        """Returns what the index is built with, on the deployment's embedding model."""
        return IndexConfig(
            model=model.name,
            dimensions=model.dimensions,
            window_tokens=model.window_tokens,
            storage=self.storage,
            threshold=self.chunk_threshold,
            chunk_size=self.chunk_size,
            chunk_overlap=self.chunk_overlap,
        )

    def to_search_config(self) -> SearchConfig:
        """Returns how the tool searches."""
        strategy: Strategy = "semantic" if self.enable_hybrid is False else "hybrid"
        return SearchConfig(
            top_k=self.top_k,
            strategy=self.strategy or strategy,
            fusion=self.fusion,
            vector_weight=self.vector_weight,
            bm25_weight=self.bm25_weight,
            recency_weight=self.recency_weight,
            include_metadata=self.include_metadata,
            max_chunk_preview=self.max_chunk_preview,
        )


class CreateSearchToolBody(Body):
    """``POST /api/v1/tools/search``. ``json_pointer`` is another name for ``json_path``."""

    project_id: Id
    table_id: Id
    name: ToolName
    description: Description | None = None
    type: Literal["search"] = "search"
    json_path: JsonPointer = ""
    json_pointer: JsonPointer = ""
    search_config: SearchConfigBody = Field(default_factory=SearchConfigBody)

    @model_validator(mode="after")
    def _one_scope(self) -> CreateSearchToolBody:
        is_both = {"json_path", "json_pointer"} <= self.model_fields_set
        if is_both and self.json_path != self.json_pointer:
            raise ValueError("json_path and json_pointer name two different scopes")
        return self

    @property
    def scope(self) -> str:
        """The pointer below which the tool may look; the whole document by default."""
        return self.json_path or self.json_pointer


class ExplainBody(Body):
    """``POST …/search/explain``"""

    query: Annotated[str, Field(min_length=1, max_length=2_000)]
    top_k: Annotated[int, Field(ge=1, le=20)] | None = None


class SearchBody(ExplainBody):
    """``POST …/search``"""

    context_hint: bool = False
