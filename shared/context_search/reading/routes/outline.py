"""What there is to read, over HTTP: bodies, answers, the route."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter
from pydantic import Field, model_validator

from context_search.agents.tools.results import MAX_RESULT_BYTES
from context_search.core.callers import Principal
from context_search.core.errors import DocumentTooLargeError
from context_search.mcp.jsonrpc import to_bytes
from context_search.reading.routes.read import MAX_COLLECTION_CHARS
from context_search.reading.rules.found_text import cursor_invalid
from context_search.reading.rules.outlines import (
    Collection,
    Collections,
    Kind,
    OutlinedCollection,
    OutlinedPlace,
)
from context_search.text.plain_text import without_hidden_characters
from context_search.web.callers import MaySearch, part
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    JsonPointer,
    KnownId,
    example,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["reading"])

DESCRIPTION_CHARS = 300
MAX_TITLE_CHARS = 200
MAX_CHILDREN = 100
ROW_BYTES = 10_000
"""Maximum size of a child or a collection as JSON: a key may have megabytes."""
_ROOM_BYTES = 1_000
"""For what stands around the rows of an answer beside its place."""
_LARGEST = 2**63 - 1
_CURSOR = re.compile("^(0|[1-9][0-9]{0,18})$", re.ASCII)


class CollectionOutlineBody(Body):
    """``POST /api/v1/outline``: the collections, or what is directly below a place of one."""

    model_config = example(collection="search_letters", pointer="/letters", limit=20)
    collection: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_COLLECTION_CHARS,
            description="Name of a collection: a search tool's name. Without it, all are listed.",
        ),
    ] = None
    pointer: Annotated[
        JsonPointer | None,
        Field(
            description="Place whose children are listed (RFC 6901); by itself where the "
            "collection begins.",
        ),
    ] = None
    cursor: Annotated[
        str | None,
        Field(
            max_length=19,
            description="Cursor of the answer before, to go on.",
            json_schema_extra={"pattern": _CURSOR.pattern},
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_CHILDREN, description="How many to list.")] = 50

    @model_validator(mode="after")
    def _has_a_collection(self) -> CollectionOutlineBody:
        if self.pointer is not None and self.collection is None:
            raise ValueError("give collection with pointer")
        return self

    @property
    def after(self) -> int:
        """Behind which child, or which tool's id, the list goes on. Raises CursorInvalidError."""
        cursor = self.cursor or "0"
        if not _CURSOR.fullmatch(cursor) or int(cursor) > _LARGEST:
            raise cursor_invalid()
        return int(cursor)


class CollectionAnswer(AnswerModel):
    """A search tool, by what agents call it."""

    name: str
    title: str
    description: str
    table_id: KnownId
    pointer: Annotated[str, Field(description="Where it begins in the table's document.")]
    strings: Annotated[
        Count | None,
        Field(description="How many texts can be read; null while that is not known."),
    ]

    @classmethod
    def of(cls, collection: Collection) -> CollectionAnswer:
        """Returns what is shown of a collection."""
        tool = collection.tool
        return cls(
            name=collection.name,
            title=without_hidden_characters(tool.name)[:MAX_TITLE_CHARS],
            description=without_hidden_characters(tool.description or "")[:DESCRIPTION_CHARS],
            table_id=tool.scope.table_id,
            pointer=tool.scope.json_pointer,
            strings=collection.strings,
        )


class OutlinedPlaceAnswer(AnswerModel):
    """A place with texts at or below it."""

    pointer: Annotated[str, Field(description="Where it stands (RFC 6901, absolute).")]
    type: Kind
    title: Annotated[Absent[str], Field(description="Title or name of an object.")] = None
    length: Annotated[
        Count,
        Field(description="Characters of a string; else how many children have something to read."),
    ]
    strings: Annotated[Count, Field(description="How many texts can be read at or below it.")]


class CollectionChildAnswer(OutlinedPlaceAnswer):
    """A member or an element with texts at or below it."""

    key: str


class CollectionOutlineAnswer(AnswerModel):
    """A page of collections, or a place with a page of its children in document order."""

    collections: Absent[list[CollectionAnswer]] = None
    collection: Absent[str] = None
    table_id: Absent[KnownId] = None
    place: Absent[OutlinedPlaceAnswer] = None
    children: Absent[list[CollectionChildAnswer]] = None
    cursor: Annotated[
        Absent[str], Field(description="For the next page; absent on the last one.")
    ] = None
    more: Annotated[Absent[str], Field(description="What is not listed, and how to go on.")] = None

    @classmethod
    def of_collections(cls, page: Collections) -> CollectionOutlineAnswer:
        """Returns as many collections as fit."""
        rows = [CollectionAnswer.of(each) for each in page.rows]
        cut = _Cut.of(rows, MAX_RESULT_BYTES - _ROOM_BYTES)
        next_after = page.next_after if cut.is_whole else page.rows[cut.passed - 1].tool.id
        sentences = [cut.left_out("collections")]
        if next_after is not None:
            sentences.append("There are more collections. Call outline with this cursor for more.")
        return cls(collections=cut.rows, **_behind(next_after, sentences))

    @classmethod
    def of_place(cls, outlined: OutlinedCollection) -> CollectionOutlineAnswer:
        """Returns as many children as fit.

        Raises DocumentTooLargeError for a place whose pointer is too long for an answer.
        """
        place = OutlinedPlaceAnswer.about(outlined.place)
        size = len(to_bytes(place.model_dump(mode="json")))
        if size > ROW_BYTES:
            raise DocumentTooLargeError("the pointer of this place is too long for an answer")
        rows = [CollectionChildAnswer.about(each) for each in outlined.children]
        cut = _Cut.of(rows, MAX_RESULT_BYTES - _ROOM_BYTES - size)
        upto, total = outlined.after + cut.passed, _children_of(outlined.place)
        next_after = upto if upto < total else None
        sentences = [cut.left_out("children")]
        if next_after is not None:
            sentences.append(
                f"Children {outlined.after + 1} to {upto} of {total} are here. "
                "Call outline with this cursor for more."
            )
        return cls(
            collection=outlined.collection,
            table_id=outlined.table_id,
            place=place,
            children=cut.rows,
            **_behind(next_after, sentences),
        )


def _children_of(place: OutlinedPlace) -> int:
    return 0 if place.type == "string" else place.length


def _behind(next_after: int | None, sentences: Sequence[str]) -> Mapping[str, Any]:
    more = " ".join(filter(None, sentences))
    return {"cursor": None if next_after is None else str(next_after), "more": more or None}


@dataclass(frozen=True, slots=True)
class _Cut:
    """The rows of a page that fit into an answer. ``passed``: with those that are too long."""

    rows: list[Any]
    passed: int
    is_whole: bool

    @classmethod
    def of(cls, rows: Sequence[AnswerModel], room: int) -> _Cut:
        """Returns the first rows that fit, without those that are too long by themselves."""
        kept: list[AnswerModel] = []
        for at, row in enumerate(rows):
            size = len(to_bytes(row.model_dump(mode="json"))) + 1
            if size > ROW_BYTES:
                continue
            room -= size
            if room < 0:
                return cls(kept, at, is_whole=False)
            kept.append(row)
        return cls(kept, len(rows), is_whole=True)

    def left_out(self, name: str) -> str:
        """Returns a sentence about the rows that are too long; empty where there is none."""
        count = self.passed - len(self.rows)
        return f"{count} {name} are left out: their pointers are too long." if count else ""


if TYPE_CHECKING:  # what reads is loaded when it is asked for: most requests search
    from context_search.reading.outline import Outlines

    Use = Annotated[Outlines, part("reading.outline")]
else:
    Use = Annotated[object, part("reading.outline")]


@router.post("/outline", responses=refused(413))
async def outline_collection(
    body: CollectionOutlineBody, caller: MaySearch, use: Use
) -> CollectionOutlineAnswer:
    """Returns the collections of a caller, or what is directly below a place of one."""
    return outlined_for(use, caller, body)


def outlined_for(
    use: Outlines, caller: Principal, body: CollectionOutlineBody
) -> CollectionOutlineAnswer:
    """Returns what a request asks for. Raises as ``Outlines`` does."""
    if body.collection is None:
        page = use.collections(caller, after=body.after, limit=body.limit)
        return CollectionOutlineAnswer.of_collections(page)
    place = use.place(caller, body.collection, body.pointer, after=body.after, limit=body.limit)
    return CollectionOutlineAnswer.of_place(place)
