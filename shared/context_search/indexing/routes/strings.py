"""The strings of an index one by one, and their chunks: bodies, answers, routes."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field, JsonValue

from context_search.core.errors import CursorInvalidError
from context_search.core.progress import NodeState
from context_search.indexing.indexer import IndexLimits
from context_search.indexing.routes.search_index import LastErrorAnswer
from context_search.indexing.rules.large_strings import LargeString
from context_search.indexing.strings import (
    MAX_CURSOR,
    MAX_SPANS,
    MAX_STRINGS,
    MendedBy,
    Spans,
    chunk_spans,
    in_state_since,
    mended_by,
    strings_of_tool,
)
from context_search.web.callers import MayRead, Stored, ToolId
from context_search.web.fields import (
    AnswerModel,
    Body,
    Count,
    JsonPointer,
    KnownId,
    NextCursor,
    Rows,
    Time,
    example,
    next_cursor,
    source,
)
from context_search.web.query_parameters import Decimal
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(prefix="/api/v1/tools/{tool_id}", route_class=StrictJsonRoute, tags=["tools"])

_NUMBER: dict[str, JsonValue] = {"pattern": r"^(0|[1-9][0-9]{0,8})$"}
_STRINGS: dict[str, JsonValue] = {"pattern": r"^[1-9][0-9]{0,18}\.[A-Za-z0-9_-]*$"}
StringsCursor = Annotated[str | None, Query(max_length=MAX_CURSOR, json_schema_extra=_STRINGS)]


class ChunksBody(Body):
    """``POST …/chunks``: where the chunks of a string begin and end."""

    model_config = example(json_pointer="/letters/0", **{"from": 0}, limit=100)
    json_pointer: JsonPointer
    from_: Annotated[int, Field(alias="from", ge=0, le=10**9)] = 0
    cursor: Annotated[str, Field(max_length=20, json_schema_extra=_NUMBER)] | None = None
    limit: Annotated[int, Field(ge=1, le=MAX_SPANS)] = MAX_SPANS

    @property
    def first(self) -> int | None:
        """The index of the first chunk that is wanted. Raises CursorInvalidError."""
        if self.cursor is None:
            return None
        if not re.fullmatch("0|[1-9][0-9]{0,8}", self.cursor):
            raise CursorInvalidError("this is no cursor")
        return int(self.cursor)


class ChunkSpanAnswer(AnswerModel):
    """A chunk by its place in the string, in code points."""

    index: Count
    start: Count
    end: Count
    present: Annotated[bool, source("is_present")]
    windows: Count


class ChunksAnswer(AnswerModel):
    """A string with a page of its chunks; ``hash`` is of the text that they were cut from."""

    tool_id: KnownId
    json_pointer: str
    state: NodeState
    char_count: Count
    hash: Annotated[str | None, source("chunks_hash")]
    is_current: bool
    namespace: str
    generation: Count
    chunks_count: Count | None
    chunks: Annotated[list[ChunkSpanAnswer], Rows]
    cursor: NextCursor | None

    @classmethod
    def of(cls, tool_id: int, found: Spans) -> ChunksAnswer:
        """Returns a page of chunks."""
        string = found.string
        return cls.about(
            string.progress,
            string,
            found,
            tool_id=tool_id,
            is_current=string.is_active and string.chunks_hash == string.content_hash,
            namespace=found.generation.namespace,
            generation=found.generation.number,
            cursor=next_cursor(found.next_index),
        )


class StringAnswer(AnswerModel):
    """A string of an index: how far it is, why, since when, and who has to do something."""

    table_id: KnownId
    json_pointer: str
    char_count: Count
    state: NodeState
    chunks_count: Count | None
    attempts: Count
    last_error: LastErrorAnswer | None
    changed_at: Time
    indexed_at: Time | None
    since: Time
    next_attempt_at: Time | None
    mended_by: MendedBy | None

    @classmethod
    def of(cls, string: LargeString) -> StringAnswer:
        """Returns how far a string is."""
        progress = string.progress
        return cls.about(
            progress, string, since=in_state_since(string), mended_by=mended_by(progress)
        )


class StringsAnswer(AnswerModel):
    """A page of long strings by pointer; ``most_attempts`` without progress end in quarantine."""

    tool_id: KnownId
    most_attempts: Count
    nodes: list[StringAnswer]
    cursor: str | None


@router.get("/search-index/nodes")
async def list_strings(
    tool_id: ToolId,
    caller: MayRead,
    store: Stored,
    state: NodeState | None = None,
    cursor: StringsCursor = None,
    limit: Annotated[int, Query(ge=1, le=MAX_STRINGS), Decimal] = 100,
) -> StringsAnswer:
    """Returns the long strings of a tool, all or those of one state, by pointer."""
    with store.for_project(caller.project_id) as work:
        page = strings_of_tool(work, caller, tool_id, state=state, cursor=cursor, limit=limit)
    return StringsAnswer(
        tool_id=tool_id,
        most_attempts=IndexLimits().max_attempts,
        nodes=[StringAnswer.of(string) for string in page.rows],
        cursor=page.cursor,
    )


@router.post("/chunks")
async def read_chunks(
    body: ChunksBody, tool_id: ToolId, caller: MayRead, store: Stored
) -> ChunksAnswer:
    """Returns where the chunks of a string begin and end, in code points."""
    pointer, char, first = body.json_pointer, body.from_, body.first
    with store.for_project(caller.project_id) as work:
        found = chunk_spans(
            work, caller, tool_id, pointer, char=char, first=first, limit=body.limit
        )
    return ChunksAnswer.of(tool_id, found)
