"""What bodies and answers are made of: their two base classes, and fields that many have."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from operator import not_
from typing import Annotated, Any, Self, TypeAlias, TypeVar

from fastapi import Query
from fastapi.responses import JSONResponse
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from context_search.core.config import (
    MAX_MODEL_NAME,
    MAX_RERANKED,
    Fusion,
    RankingChange,
    Rerank,
    Strategy,
)
from context_search.core.filters import MAX_FIELDS, MAX_NAME, OPERATORS, Filter, parse_filter
from context_search.text.plain_text import LINE_PATTERN, TEXT_PATTERN, hidden_character
from context_search.web.query_parameters import Decimal

T = TypeVar("T")
LeftOut = SkipJsonSchema[None]
"""In the place of None for a field that may be left out and, unlike others, not be null."""


class Body(BaseModel):
    """What every body is: closed and strict."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _is_object(cls, given: object) -> object:
        # FastAPI lets pydantic read attributes, so that a JsonNumber would be an empty body.
        if not isinstance(given, dict):
            raise ValueError("Input should be an object")
        return given


class CamelBody(Body):
    """A body whose fields have two names, ``topK`` and ``top_k``; one of them is given."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )

    @model_validator(mode="before")
    @classmethod
    def _is_named_once(cls, given: object) -> object:
        names = given if isinstance(given, dict) else {}
        for field in cls.model_fields:
            if field != (alias := to_camel(field)) and field in names and alias in names:
                raise ValueError(f"{alias} and {field} are the same field: give one of them")
        return given


def example(**members: JsonValue) -> ConfigDict:
    """Returns the ``model_config`` of a body with an example for the OpenAPI document.

    Ids are those of the first thing made.
    """
    return ConfigDict(json_schema_extra={"examples": [members]})


class AnswerModel(BaseModel):
    """Base of all answers: fields in a fixed order; later versions may add some."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        serialize_by_alias=True,
        from_attributes=True,
        validate_by_name=True,
        validate_by_alias=True,
    )

    @classmethod
    def about(cls, *sources: object, **further: object) -> Self:
        """Returns an answer whose fields are attributes of the sources, or ``further``.

        The first source that has an attribute gives it. ``source`` says where it has another name.
        Answers in an answer are made the same way.
        """
        if not sources:
            return cls.model_validate(further)
        if further or len(sources) > 1:
            return cls.model_validate(_Attributes(sources, further))
        return cls.model_validate(sources[0])

    def response(self, status: int = 200, headers: dict[str, str] | None = None) -> JSONResponse:
        """Returns the answer with a status and headers of its own."""
        return JSONResponse(self.model_dump(mode="json"), status, headers)


class StoredJsonAnswer(AnswerModel):
    """Base of answers that are JSON values of the database: an odd row is no 500.

    A member whose value has another type is left out, as a missing one is: pydantic would write it
    into a warning, and so into the log.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _without_odd_members(cls, row: Any, check: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(row, cls):
            return row
        members = row if isinstance(row, Mapping) else {}
        known = {name: members[name] for name in cls.model_fields if name in members}
        try:
            return check(known)
        except ValidationError as error:
            for each in error.errors(include_input=False, include_url=False):
                known.pop(str(each["loc"][0]), None)
            return cls.model_construct(**known)


class _Attributes:
    """Attributes of several objects as those of one."""

    def __init__(self, sources: tuple[object, ...], further: Mapping[str, object]) -> None:
        self.__dict__.update(further)
        self._sources = sources

    def __getattr__(self, name: str) -> object:
        for source in self._sources:
            if hasattr(source, name):
                return getattr(source, name)
        raise AttributeError(name)


# Fields of bodies.


def _given(value: object) -> object:
    if value is None:
        raise ValueError("Input should not be null: leave the field out")
    return value


def _one_line(text: str) -> str:
    return _readable(text, hidden_character(text))


def _lines(text: str) -> str:
    return _readable(text, hidden_character(text, may_have_lines=True))


def _readable(text: str, hidden: str | None) -> str:
    if hidden is not None:
        raise ValueError(f"{hidden} is a control or invisible character")
    return text


# Said to clients, too: what a check of ours refuses is no surprise to them.
_ONE_LINE: dict[str, JsonValue] = {"pattern": LINE_PATTERN}
_LINES: dict[str, JsonValue] = {"pattern": TEXT_PATTERN}
# Said to clients only: the service answers a broken pointer with a code of its own.
_POINTER: dict[str, JsonValue] = {"pattern": "^(/([^~/]|~[01])*)*$"}
_PART: dict[str, JsonValue] = {"pattern": "^(/([^~/]|~[01])*)+$"}

NotNull = BeforeValidator(_given)
"""For a field without which much more is asked for: null could be a mistake of the caller's."""
Id = Annotated[int, Field(ge=1, le=2**63 - 1)]
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
MAX_POINTER = 100_000
JsonPointer = Annotated[str, Field(max_length=MAX_POINTER, json_schema_extra=_POINTER)]
PartPointer = Annotated[str, Field(min_length=1, max_length=MAX_POINTER, json_schema_extra=_PART)]
"""A place inside of a document."""
# Percent-encoded it is up to twelve times as long, and API Gateway takes 10,240 bytes in all.
MAX_POINTER_IN_URL = 5_200
PointerInUrl = Annotated[
    str, Query(alias="pointer", max_length=MAX_POINTER_IN_URL, json_schema_extra=_POINTER)
]
PartPointerInUrl = Annotated[
    str,
    Query(alias="pointer", min_length=1, max_length=MAX_POINTER_IN_URL, json_schema_extra=_PART),
]
MAX_QUESTION = 2_000
Question = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]
MAX_TOP_K = 50
TopK = Annotated[int, Field(ge=1, le=MAX_TOP_K)]
# Its own code says what is wrong with it: FILTER_INVALID.
_FILTER = (
    'Conditions on fields, all of which hold: {"year": {"gte": 2020}}; with and, or: arrays of '
    f"filters, not: a filter. Operators: {', '.join(OPERATORS)}."
)
FilterObject = Annotated[
    dict[str, Any],
    WithJsonSchema({"type": "object", "minProperties": 1, "description": _FILTER}),
]
Filtered = Annotated[FilterObject | LeftOut, NotNull]
FieldName = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Filterable = Annotated[list[FieldName], Field(max_length=MAX_FIELDS)]
"""Names of fields, as in a JSON pointer without the first slash."""


def filter_of(given: dict[str, Any] | None) -> Filter | None:
    """Returns the filter of a body. Raises FilterInvalidError."""
    return None if given is None else parse_filter(given)


MinScore = Annotated[float, Field(ge=0, le=1)]
MaxTokens = Annotated[int, Field(ge=1, le=100_000)]
Cursor = Annotated[int, Query(ge=0, le=2**63 - 1), Decimal]
"""Where to go on in a list, in an address."""
OfTable = Annotated[int | None, Query(alias="table_id", ge=1, le=2**63 - 1), Decimal]
"""Which table a list is about, in an address."""
PartOfName = Annotated[str | None, Query(alias="q", min_length=1, max_length=200)]
"""What the names in a list hold, in upper or lower case, in an address."""


Weight = Annotated[float, Field(ge=0, le=1)]


class RerankBody(Body):
    """Which model of the deployment orders the first hits anew, and what its opinion counts."""

    model_config = example(model="cohere/rerank-v3.5")
    model: Annotated[str, Field(min_length=1, max_length=MAX_MODEL_NAME)]
    candidates: Annotated[int, Field(ge=1, le=MAX_RERANKED)] = 20
    blend: Weight = 0.5


class RankingBody(Body):
    """How a tool ranks, as far as that is to be another; what is left out stays.

    ``null``: no second opinion; weights that are found, where both are ``null``.
    """

    model_config = example(fusion="linear", bm25_weight=0.55, vector_weight=0.35)
    strategy: Annotated[Strategy | LeftOut, NotNull] = None
    fusion: Annotated[Fusion | LeftOut, NotNull] = None
    vector_weight: Weight | None = None
    bm25_weight: Weight | None = None
    recency_weight: Annotated[Weight | LeftOut, NotNull] = None
    rerank: RerankBody | None = None

    def change(self) -> RankingChange:
        """Returns what is to be another."""
        names = [name for name in RankingBody.model_fields if name in self.model_fields_set]
        given = {name: getattr(self, name) for name in names}
        if self.rerank is not None:
            given["rerank"] = Rerank(**dict(self.rerank))
        return RankingChange(tuple(given.items()))


# Fields of answers. Bounds are said to clients, and tests hold every answer to them; no answer is
# refused for them while it is given.

KnownId = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]
Count = Annotated[int, WithJsonSchema({"type": "integer", "minimum": 0})]
# A number stays what it is: 1 is not made 1.0.
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
Share = Annotated[int | float, WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
TimeText = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


def _iso(at: datetime) -> str:
    return at.isoformat()


Time = Annotated[
    datetime,
    PlainSerializer(_iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
NextCursor = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[0-9]+$"})]


def _is_none(value: object) -> bool:
    return value is None


Absent: TypeAlias = Annotated[T | LeftOut, Field(exclude_if=_is_none)]
"""For a member that is not there when it is None."""
OnlyTrue = Annotated[bool | LeftOut, Field(exclude_if=not_)]
"""For a member that is not there when it is false."""

_NOT_SEARCHED = (
    "Number of strings in the tool's scope that no search finds: shorter than chunk_threshold, too "
    "long, or given up; blank ones do not count. Absent while nobody has counted, and of a project."
)
NotSearched = Annotated[Absent[Count], Field(description=_NOT_SEARCHED)]


def source(*path: str) -> Any:
    """Returns the mark of a field that its source calls otherwise: ``source("scope", "table_id")``.

    Where a part of the path is None, the field is.
    """
    ways = [AliasPath(*path[:end]) for end in range(len(path), 0, -1)]
    return Field(validation_alias=AliasChoices(*ways))


def rounded_to(digits: int) -> BeforeValidator:
    """Returns the mark of a number that is shown with so many digits behind the point."""
    return BeforeValidator(lambda number: round(number, digits))


Score = Annotated[Number, rounded_to(6)]
Relevance = Annotated[Share, rounded_to(4)]
Listed = Field(strict=False)
"""The mark of a list whose source is a tuple."""
Rows = Field(validation_alias="rows", strict=False)
"""The mark of a list that its source, a page, calls ``rows``."""


def next_cursor(next_after: int | None) -> str | None:
    """Returns what a list says of its next page; null on the last one."""
    return None if next_after is None else str(next_after)


PageCursor = Annotated[
    NextCursor | None, Field(validation_alias="next_after"), BeforeValidator(next_cursor)
]
"""The cursor of an answer that is made from a page."""
