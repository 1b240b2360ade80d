"""Reading on over HTTP: bodies, answers, routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from pydantic import Field, model_validator

from context_search.core.cites import MAX_CITE_CHARS, Cite, CiteStatus
from context_search.core.json_pointer import split
from context_search.reading.rules.texts import DEFAULT_AROUND, MAX_AROUND, SeenText, WantedText
from context_search.searching.routes.search import SpanAnswer
from context_search.web.callers import MaySearch, part
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    JsonPointer,
    KnownId,
    example,
    source,
)
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["reading"])

MAX_COLLECTION_CHARS = 64
DEFAULT_TOKENS = 4_000
MAX_TOKENS = 10_000
CiteText = Annotated[
    str,
    Field(min_length=1, max_length=MAX_CITE_CHARS, description="A cite as a result has it."),
]
Collection = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_COLLECTION_CHARS,
        description="Name of the collection: a search tool's name.",
    ),
]
_Around = Annotated[int, Field(ge=0, le=MAX_AROUND)]


class ReadTextBody(Body):
    """``POST /api/v1/read``: around a cite, or from a place of a collection on."""

    model_config = example(collection="search_letters", pointer="/letters/0/text", after=500)
    cite: CiteText | None = None
    collection: Collection | None = None
    pointer: Annotated[
        JsonPointer | None,
        Field(description="Where the string stands (RFC 6901)."),
    ] = None
    start: Annotated[
        int, Field(ge=0, le=10**9, description="First character to read, with pointer.")
    ] = 0
    before: Annotated[_Around, Field(description="How many characters before it to read, too.")] = (
        DEFAULT_AROUND
    )
    after: Annotated[_Around, Field(description="How many characters behind it to read, too.")] = (
        DEFAULT_AROUND
    )
    max_tokens: Annotated[
        int,
        Field(ge=100, le=MAX_TOKENS, description="How long the text may be; it is cut to fit."),
    ] = DEFAULT_TOKENS

    @model_validator(mode="after")
    def _says_where(self) -> ReadTextBody:
        place = (self.collection, self.pointer)
        if self.cite is None and None in place:
            raise ValueError("give cite, or collection and pointer")
        if self.cite is not None and place != (None, None):
            raise ValueError("give cite, or collection and pointer, and not both")
        return self

    def wanted(self) -> WantedText:
        """Returns what is to be read. Raises InvalidInputError for what is no cite, or pointer."""
        split(self.pointer or "")
        return WantedText(
            None if self.cite is None else Cite.parse(self.cite),
            self.collection or "",
            self.pointer or "",
            self.start,
            self.before,
            self.after,
            self.max_tokens,
        )


class TextPlaceAnswer(AnswerModel):
    """Characters ``start`` to ``end`` of a string; ``collection`` finds it, where one does."""

    collection: Absent[str] = None
    table_id: KnownId
    pointer: Annotated[str, source("json_pointer")]
    start: Count
    end: Count


_STATUS = (
    "current: the cited text stands there. moved: it stands at another place of the same string. "
    "changed: it no longer stands there. gone: the string is no longer there."
)


class ReadTextAnswer(AnswerModel):
    """The text now, with its place. Of what is gone there is the cite and nothing else."""

    status: Annotated[CiteStatus, Field(description=_STATUS)]
    cite: Annotated[str, Field(description="Address of the text that is shown.")]
    text: Absent[str] = None
    place: Absent[TextPlaceAnswer] = None
    length: Annotated[Absent[Count], Field(description="Characters of the whole string.")] = None
    revision: Absent[Count] = None
    cited: Annotated[
        Absent[SpanAnswer], Field(description="Where the cited text stands, or stood.")
    ] = None
    was: Annotated[Absent[str], Field(description="The cited text, if it has changed.")] = None
    previous: Annotated[Absent[str], Field(description="Cite of the text before.")] = None
    next: Annotated[Absent[str], Field(description="Cite of the text behind.")] = None
    url: Annotated[Absent[str], Field(description="Where a person sees the text.")] = None
    more: Annotated[Absent[str], Field(description="What was cut, and how to go on.")] = None

    @classmethod
    def of(cls, seen: SeenText) -> ReadTextAnswer:
        """Returns what is shown of a text."""
        if seen.text is None:
            return cls(status=seen.status, cite=str(seen.cite))
        start, end = seen.cited
        return cls(
            status=seen.status,
            cite=str(seen.cite),
            text=seen.text,
            place=TextPlaceAnswer.about(seen),
            length=seen.length,
            revision=seen.revision,
            cited=SpanAnswer(start=start, end=end) if end > start else None,
            was=seen.was,
            previous=None if seen.previous is None else str(seen.previous),
            next=None if seen.next is None else str(seen.next),
            url=seen.url,
            more=_more(seen),
        )


def _more(seen: SeenText) -> str | None:
    if not seen.is_cut:
        return None
    return (
        f"Characters {seen.start} to {seen.end} of {seen.length} are here; not all that was asked "
        "for fitted. Read next, or previous, to go on."
    )


if TYPE_CHECKING:  # what reads is loaded when it is asked for: most requests search
    from context_search.reading.read import ReadTexts

    Use = Annotated[ReadTexts, part("reading.read")]
else:
    Use = Annotated[object, part("reading.read")]


@router.post("/read")
async def read(body: ReadTextBody, caller: MaySearch, use: Use) -> ReadTextAnswer:
    """Returns the text around a cite, or from a place on, as it is now."""
    return ReadTextAnswer.of(use.read(caller, body.wanted()))


@router.get("/citations/{cite}")
async def follow_cite(
    cite: Annotated[str, Path(max_length=MAX_CITE_CHARS)], caller: MaySearch, use: Use
) -> ReadTextAnswer:
    """Returns where cited text stands now, and what became of it."""
    wanted = WantedText(Cite.parse(cite), before=0, after=0)
    return ReadTextAnswer.of(use.read(caller, wanted))
