"""Documents of any size, piece by piece: bodies, answers, routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field, model_validator

from context_search.services.catalog.outline import MAX_WINDOW, ReadPieces
from context_search.web.border import StrictJsonRoute
from context_search.web.callers import MayManage, TableId, part
from context_search.web.fields import (
    Answer,
    Body,
    Count,
    JsonPointer,
    KnownId,
    example,
)
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


class TextAnswer(Answer):
    """A window of a string that has ``total`` characters; ``hash`` is sha256 of the whole."""

    table_id: KnownId
    revision: Count
    json_pointer: str
    start: Count
    end: Count
    total: Count
    hash: str
    text: str


Use = Annotated[ReadPieces, part("reading.pieces")]


@router.post("/text", response_model=TextAnswer)
async def read_text(body: TextBody, table_id: TableId, caller: MayManage, use: Use) -> JSONResponse:
    """Returns a window of a string of any length; the revision is the ETag."""
    window = use.window(caller, table_id, body.json_pointer, start=body.start, end=body.behind)
    shown = TextAnswer(
        table_id=table_id,
        revision=window.revision,
        json_pointer=body.json_pointer,
        start=window.start,
        end=window.end,
        total=window.total,
        hash=window.content_hash,
        text=window.text or "",
    )
    return shown.response(headers=etag(window.revision))
