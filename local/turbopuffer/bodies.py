"""The JSON bodies that the server reads. Unknown fields are refused by name, never ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local.turbopuffer.errors import ApiError, invalid, malformed

Body = TypeVar("Body", bound=BaseModel)
_MAX_ROWS = 10_000
_MAX_QUERIES = 16
# The service answers 422 to a wrong shape and 400 to what makes no sense; what only this server
# does not know is 400 too.
_NONSENSE = {
    *("extra_forbidden", "literal_error", "too_long", "too_short"),
    *("greater_than_equal", "less_than_equal"),
}


class Strict(BaseModel):
    """A body or a part of one: exact types, no other fields."""

    model_config = ConfigDict(strict=True, extra="forbid")


class FullText(Strict):
    """``full_text_search`` of an attribute whose values are arrays of ready tokens."""

    tokenizer: Literal["pre_tokenized_array"]
    max_token_length: int = Field(default=39, ge=1, le=254)


class Declaration(Strict):
    """What ``schema`` says of one attribute."""

    type: str
    filterable: bool | None = None
    full_text_search: FullText | None = None
    ann: Literal[True] | None = None


class WriteBody(Strict):
    """``POST /v2/namespaces/{name}``."""

    upsert_rows: list[dict[str, Any]] = Field(default_factory=list)
    deletes: list[Any] = Field(default_factory=list)
    declared: dict[str, Declaration] = Field(default_factory=dict, alias="schema")
    distance_metric: Literal["cosine_distance", "euclidean_squared"] | None = None


class QueryBody(Strict):
    """One ranked list. ``rank_by`` and ``filters`` stay raw: they need the schema."""

    rank_by: list[Any]
    filters: list[Any] | None = None
    limit: int = Field(ge=1, le=_MAX_ROWS)
    include_attributes: bool | list[str] = False


class MultiQueryBody(Strict):
    """Several ranked lists of the same moment."""

    queries: list[QueryBody] = Field(min_length=1, max_length=_MAX_QUERIES)


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
        raise _refusal(error) from None


def parse_query(value: Any) -> list[QueryBody]:
    """The queries of ``POST …/query``, one or several."""
    if isinstance(value, dict) and "queries" in value:
        return parse_body(MultiQueryBody, value).queries
    return [parse_body(QueryBody, value)]


def _refusal(error: ValidationError) -> ApiError:
    details = error.errors(include_url=False, include_context=False)
    text = "; ".join(f"{'.'.join(map(str, d['loc']))}: {_reported(d)}" for d in details[:5])
    is_nonsense = {detail["type"] for detail in details} <= _NONSENSE
    return invalid(text) if is_nonsense else malformed(text)


def _reported(detail: Mapping[str, Any]) -> str:
    """pydantic's words, or the service's where they are known."""
    if detail["type"] == "list_type" and isinstance(detail["input"], dict):
        return "invalid type: map, expected a sequence"
    return str(detail["msg"])
