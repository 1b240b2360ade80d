"""Passages as models read them: what is said, where it stands, and nothing else."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from context_search.searching.routes.search import MAX_RESULTS, EmptyResultHint
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Count,
    KnownId,
    OnlyTrue,
    Relevance,
    source,
)


class PassagePlaceAnswer(AnswerModel):
    """Characters ``start`` to ``end`` of a string."""

    collection: str
    table_id: KnownId
    pointer: Annotated[str, source("json_pointer")]
    start: Count
    end: Count


class PassageAnswer(AnswerModel):
    """A passage."""

    cite: Annotated[str, Field(description="Names this passage; read takes it.")]
    title: str
    text: Annotated[str, Field(description="A quotation, unchanged unless redacted.")]
    place: PassagePlaceAnswer
    relevance: Relevance
    stale: Annotated[
        OnlyTrue, Field(description="The string has changed since it was indexed.")
    ] = None
    url: Annotated[Absent[str], Field(description="Where a person can open it.")] = None
    queries: Annotated[
        Absent[list[str]],
        Field(serialization_alias="for", description="Which of the queries have found it."),
    ] = None


class DegradedAnswer(AnswerModel):
    """A collection that was not searched as it should be."""

    collection: str
    reason: str


class PassagesAnswer(AnswerModel):
    """Passages, best first."""

    passages: Annotated[list[PassageAnswer], Field(max_length=MAX_RESULTS)]
    degraded: Annotated[
        Absent[list[DegradedAnswer]],
        Field(description="Collections of which something is missing here, and why."),
    ] = None
    hint: EmptyResultHint = None
    more: Annotated[Absent[str], Field(description="What was left out, and how to get it.")] = None
