"""The JSON bodies that the server reads. Unknown fields are refused, never ignored."""

from __future__ import annotations

import zlib
from typing import Any, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local.turbopuffer.errors import ApiError, invalid, malformed

Body = TypeVar("Body", bound=BaseModel)
Metric = Literal["cosine_distance", "euclidean_squared"]
_RANGE_ERRORS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class WriteBody(_Strict):
    """``POST /v2/namespaces/{name}``. Conditions and filters stay raw: they need the schema."""

    upsert_rows: list[dict[str, Any]] | None = None
    upsert_columns: dict[str, list[Any]] | None = None
    patch_rows: list[dict[str, Any]] | None = None
    patch_columns: dict[str, list[Any]] | None = None
    deletes: list[Any] | None = None
    delete_by_filter: Any = None
    delete_by_filter_allow_partial: bool = False
    upsert_condition: Any = None
    patch_condition: Any = None
    delete_condition: Any = None
    declared: dict[str, Any] = Field(default_factory=dict, alias="schema")
    distance_metric: Metric | None = None
    create_namespace: bool | None = None
    return_affected_ids: bool = False
    disable_backpressure: bool = False  # there is none to disable


class SubQuery(_Strict):
    """One ranked list or one aggregation."""

    rank_by: Any = None
    aggregate_by: dict[str, Any] | None = None
    filters: Any = None
    limit: Any = None
    top_k: Any = None
    offset: int | None = None
    include_attributes: bool | list[str] | None = None
    exclude_attributes: list[str] | None = None


class Consistency(BaseModel):
    """``strong`` (default) sees every acknowledged write, ``eventual`` may lag."""

    level: Literal["strong", "eventual"] = "strong"
    max_staleness_seconds: int | None = None


class _Root(_Strict):
    consistency: Consistency = Consistency()
    vector_encoding: Literal["float", "base64"] = "float"


class QueryBody(SubQuery, _Root):
    """``POST …/query`` with one query."""


class MultiQueryBody(_Root):
    """``POST …/query`` with several; root ``limit`` and ``offset`` belong to ``rerank_by``."""

    queries: list[SubQuery]
    rerank_by: Any = None
    limit: Any = None
    top_k: Any = None
    offset: int | None = None


class MetadataPatch(_Strict):
    """``PATCH …/metadata``."""

    read_only: bool


def gunzipped(raw: bytes, limit: int) -> bytes:
    """``raw`` unpacked; 400 when it is not gzip, 413 when it unpacks to more than ``limit``."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(raw, limit + 1)
    except zlib.error:
        raise invalid("the body is not gzip") from None
    if len(unpacked) > limit:
        raise too_large(limit)
    return unpacked


def too_large(limit: int) -> ApiError:
    """413: the body has more than ``limit`` bytes."""
    return ApiError(413, f"the body is larger than {limit} bytes")


def parse_json(raw: bytes) -> Any:
    """The JSON in ``raw``; 400 when there is none."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise invalid(f"failed to parse the request body as JSON: {error}") from None


def parse_body(model: type[Body], value: Any) -> Body:
    """``value`` as ``model``; 422 on a wrong shape, 400 on an unknown field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError) -> ApiError:
    """The answer to a body that does not fit its model."""
    details = error.errors(include_url=False, include_input=False, include_context=False)
    text = "; ".join(f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in details[:5])
    shapes = {detail["type"] for detail in details}
    return invalid(text) if shapes <= {"extra_forbidden", *_RANGE_ERRORS} else malformed(text)
