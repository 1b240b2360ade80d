"""Documents of any size, piece by piece: bodies, answers, routes."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import JSONResponse
from pydantic import Field, JsonValue, model_validator

from context_search.catalog.outline import (
    MAX_CHILDREN,
    ChildrenQuery,
    Only,
    outline,
    text_window,
)
from context_search.catalog.rules.outlines import ValueKind
from context_search.core.callers import Principal
from context_search.core.errors import CursorInvalidError
from context_search.core.limits import MAX_WINDOW
from context_search.core.progress import NodeState
from context_search.indexing.routes.search_index import LastErrorAnswer
from context_search.store import Store
from context_search.web.callers import MayManage, Stored, TableId
from context_search.web.fields import (
    AnswerModel,
    Body,
    Count,
    Id,
    JsonPointer,
    KnownId,
    Listed,
    PageCursor,
    PointerInUrl,
    Time,
    example,
    source,
)
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal
from context_search.web.request_body import StrictJsonRoute
from context_search.web.revisions import etag

router = APIRouter(prefix="/api/v1/tables/{table_id}", route_class=StrictJsonRoute, tags=["tables"])

_Offset = Annotated[int, Field(ge=0, le=1_000_000_000)]


class TextBody(Body):
    """``POST …/text``: a window of a string, in code points, at most 100,000 of them."""

    model_config = example(json_pointer="/letters/0", start=0, end=10)
    json_pointer: JsonPointer
    start: _Offset = 0
    end: _Offset | None = None

    @model_validator(mode="after")
    def _is_window(self) -> TextBody:
        if not 0 <= self.behind - self.start <= MAX_WINDOW:
            raise ValueError(f"end lies 0 to {MAX_WINDOW} characters behind start")
        return self

    @property
    def behind(self) -> int:
        """Where the window ends."""
        return self.start + MAX_WINDOW if self.end is None else self.end


class TextAnswer(AnswerModel):
    """A window of a string that has ``total`` characters; ``hash`` is sha256 of the whole."""

    table_id: KnownId
    revision: Count
    json_pointer: str
    start: Count
    end: Count
    total: Count
    hash: Annotated[str, source("content_hash")]
    text: str


_NUMBER: dict[str, JsonValue] = {"pattern": r"^(0|[1-9][0-9]{0,8})$"}
_MOST = 10**9
PartOfKey = Annotated[str, Field(min_length=1, max_length=200)]
Page = Annotated[int, Field(ge=1, le=MAX_CHILDREN)]


class OutlineBody(Body):
    """``POST …/outline``: a page of what is directly below a place."""

    model_config = example(json_pointer="/letters", limit=50)
    json_pointer: JsonPointer = ""
    cursor: Annotated[str, Field(max_length=20, json_schema_extra=_NUMBER)] | None = None
    limit: Page = MAX_CHILDREN
    only: Only | None = None
    key: PartOfKey | None = None
    tool_id: Id | None = None

    def wanted(self) -> ChildrenQuery:
        """Returns what is asked for. Raises CursorInvalidError."""
        cursor = self.cursor or "0"
        if not re.fullmatch("0|[1-9][0-9]{0,8}", cursor):
            raise CursorInvalidError("this is no cursor")
        return ChildrenQuery(
            self.json_pointer, int(cursor), self.limit, self.only, self.key, self.tool_id
        )


class ChildStringAnswer(AnswerModel):
    """A long string in the index that is told about; its chunks are null until they are known."""

    state: Annotated[NodeState, source("progress", "state")]
    chunks_count: Annotated[Count | None, source("progress", "chunks_count")]
    attempts: Annotated[Count, source("progress", "attempts")]
    last_error: Annotated[LastErrorAnswer | None, source("progress", "last_error")]
    next_attempt_at: Annotated[Time | None, source("progress", "next_attempt_at")]


class ChildAnswer(AnswerModel):
    """A member or an element, without what lies below it; ``text`` of a scalar, its beginning.

    ``title``: of an object its member ``title``, else ``name``, where that is a text.
    """

    key: Annotated[str, source("value", "key")]
    json_pointer: str
    type: Annotated[ValueKind, source("value", "kind")]
    length: Annotated[Count | None, source("value", "length")]
    bytes: Annotated[Count, source("value", "size")]
    text: Annotated[str | None, source("value", "text")]
    title: Annotated[str | None, source("value", "title")]
    large_strings: Annotated[Count | None, source("below", "large")]
    problems: Annotated[Count | None, source("below", "problems")]
    string: ChildStringAnswer | None


class OutlineAnswer(AnswerModel):
    """A place of a document with a page of its children, and whose index counts their strings."""

    table_id: KnownId
    revision: Annotated[Count, source("value", "revision")]
    json_pointer: str
    type: Annotated[ValueKind, source("value", "kind")]
    length: Annotated[Count | None, source("value", "length")]
    tool_id: KnownId | None
    index: Literal["tool", "project"] | None
    children: Annotated[list[ChildAnswer], Listed]
    cursor: PageCursor


async def _in_url(
    pointer: PointerInUrl = "",
    cursor: Annotated[int, Query(ge=0, le=_MOST), Decimal] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_CHILDREN), Decimal] = MAX_CHILDREN,
    only: Only | None = None,
    key: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    tool_id: Annotated[int | None, Query(ge=1, le=2**63 - 1), Decimal] = None,
) -> ChildrenQuery:
    return ChildrenQuery(pointer, cursor, limit, only, key, tool_id)


@router.get("/outline", response_model=OutlineAnswer, responses=refused(413))
async def read_outline(
    table_id: TableId,
    caller: MayManage,
    store: Stored,
    wanted: Annotated[ChildrenQuery, Depends(_in_url)],
) -> JSONResponse:
    """Returns a page of what is directly below a place; the revision is the ETag."""
    return _outline(store, caller, table_id, wanted)


@router.post("/outline", response_model=OutlineAnswer)
async def read_outline_at(
    body: OutlineBody, table_id: TableId, caller: MayManage, store: Stored
) -> JSONResponse:
    """Like ``GET …/outline``, with a pointer of any length."""
    return _outline(store, caller, table_id, body.wanted())


def _outline(store: Store, caller: Principal, table_id: int, wanted: ChildrenQuery) -> JSONResponse:
    with store.for_project(caller.project_id) as work:
        found = outline(work, caller, table_id, wanted)
    shown = OutlineAnswer.about(found, table_id=table_id, json_pointer=wanted.pointer)
    return shown.response(headers=etag(found.value.revision))


@router.post("/text", response_model=TextAnswer)
async def read_text(
    body: TextBody, table_id: TableId, caller: MayManage, store: Stored
) -> JSONResponse:
    """Returns a window of a string of any length; the revision is the ETag."""
    pointer, start, end = body.json_pointer, body.start, body.behind
    with store.for_project(caller.project_id) as work:
        window = text_window(work, caller, table_id, pointer, start=start, end=end)
    shown = TextAnswer.about(
        window, table_id=table_id, json_pointer=pointer, text=window.text or ""
    )
    return shown.response(headers=etag(window.revision))
