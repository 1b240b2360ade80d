"""Tables: bodies, answers, routes."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, Field, RootModel

from context_search.access.lookup import live_table
from context_search.access.routes.idempotency import Idempotent
from context_search.catalog.rules.url_template import MAX_TEMPLATE, fault_of
from context_search.catalog.tables import (
    LISTED_TABLES,
    MOST_LISTED_TABLES,
    ManageTables,
    page_of_tables,
    set_url_template,
    value_at,
)
from context_search.core.callers import Principal
from context_search.core.documents import parse_json
from context_search.core.model import Table
from context_search.core.progress import IndexStatus
from context_search.store import Store
from context_search.web.audit import Audited
from context_search.web.callers import (
    MayManage,
    SilentS,
    Stored,
    TableId,
    own_project,
    part,
)
from context_search.web.fields import (
    AnswerModel,
    Body,
    Count,
    Cursor,
    Description,
    Id,
    JsonPointer,
    KnownId,
    Name,
    PageCursor,
    PartOfName,
    PartPointer,
    PartPointerInUrl,
    PointerInUrl,
    Rows,
    Time,
    example,
    source,
)
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal
from context_search.web.request_body import StrictJsonRoute, request_id
from context_search.web.revisions import IfMatch, etag

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["tables"])


def _is_template(text: str) -> str:
    if fault := fault_of(text):
        raise ValueError(fault)
    return text


UrlTemplate = Annotated[str, Field(max_length=MAX_TEMPLATE), AfterValidator(_is_template)]


class CreateTableBody(Body):
    """``POST /api/v1/tables``: ``data`` is any JSON value."""

    model_config = example(project_id=1, name="library", data={"letters": ["Nine comets."]})
    project_id: Id
    name: Name
    description: Description | None = None
    url_template: UrlTemplate | None = None
    data: object


class ChangeTableBody(Body):
    """``PATCH /api/v1/tables/{table_id}``: null takes the address away."""

    model_config = example(url_template="https://wiki.example.com/{table_id}?at={pointer}")
    url_template: UrlTemplate | None


class ReadBody(Body):
    """``POST …/data/read``: a pointer that would be too long for an address."""

    model_config = example(json_pointer="/letters/0")
    json_pointer: JsonPointer = ""


class ReplaceBody(Body):
    """``POST …/data/replace``: ``value`` is any JSON value."""

    model_config = example(json_pointer="/letters/0", value="Ten comets.")
    json_pointer: JsonPointer = ""
    value: object


class MergeBody(Body):
    """``POST …/data/merge``: ``patch`` is a JSON Merge Patch."""

    model_config = example(patch={"letters": ["Ten comets."]})
    json_pointer: JsonPointer = ""
    patch: object


class RemoveBody(Body):
    """``POST …/data/remove``: the place is not the whole document."""

    model_config = example(json_pointer="/letters/0")
    json_pointer: PartPointer


class TableAnswer(AnswerModel):
    """A table without its document. Rows of others may lack a name and times."""

    id: KnownId
    project_id: KnownId
    name: str | None
    description: str | None
    revision: Count
    updated_at: Time | None
    url_template: str | None


class ListedTableAnswer(AnswerModel):
    """A table in a list, with the sums over the indexes that serve its tools."""

    id: Annotated[KnownId, source("listed", "table", "id")]
    name: Annotated[str | None, source("listed", "table", "name")]
    description: Annotated[str | None, source("listed", "table", "description")]
    revision: Annotated[Count, source("listed", "table", "revision")]
    updated_at: Annotated[Time | None, source("listed", "table", "updated_at")]
    stored_bytes: Annotated[Count, source("listed", "stored_bytes")]
    tools_count: Annotated[Count, source("listed", "tools_count")]
    status: IndexStatus | None
    nodes_count: Count
    chunks_count: Count
    indexed_chunks_count: Count


class TablesAnswer(AnswerModel):
    """A page of tables."""

    tables: Annotated[list[ListedTableAnswer], Rows]
    cursor: PageCursor


class DocumentAnswer(RootModel[Any]):
    """Any JSON value."""


Use = Annotated[ManageTables, part("tables")]
Limit = Annotated[int, Query(ge=1, le=MOST_LISTED_TABLES), Decimal]


class _Change(TypedDict):
    pointer: str
    if_revision: int | None
    request_id: str


async def _change(
    pointer: PointerInUrl = "",
    if_match: IfMatch = None,
) -> _Change:
    return _at(pointer, if_match)


def _at(pointer: str, if_match: int | None) -> _Change:
    return {"pointer": pointer, "if_revision": if_match, "request_id": request_id()}


Change = Annotated[_Change, Depends(_change)]
"""Where to change a document, and which revision it must have for that."""

# FastAPI is not told of these bodies: it would take them for parameters of ours.
_ANY_JSON = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {}, "examples": {"text": {"value": "new"}}}},
    }
}


@router.post("/tables", status_code=201, response_model=TableAnswer, responses=refused(409))
async def create_table(
    body: CreateTableBody, caller: MayManage, use: Use, once: Idempotent
) -> Response:
    """Stores a JSON document."""
    own_project(caller, body.project_id)

    def create() -> JSONResponse:
        table = use.create(
            caller,
            body.name,
            body.description,
            body.data,
            url_template=body.url_template,
            request_id=request_id(),
        )
        place = {"Location": f"/api/v1/tables/{table.id}"}
        return TableAnswer.about(table).response(201, {**etag(table.revision), **place})

    return once.answer(caller.project_id, create)


@router.get("/tables", response_model=TablesAnswer, responses=NOT_MODIFIED)
async def list_tables(
    caller: MayManage,
    store: Stored,
    silent_s: SilentS,
    polled: IfNoneMatch,
    cursor: Cursor = 0,
    limit: Limit = LISTED_TABLES,
    q: PartOfName = None,
) -> Response:
    """Returns the project's tables with the state of their indexes; ``q`` is part of the name."""
    with store.for_project(caller.project_id) as work:
        page = page_of_tables(
            work, caller, after=cursor, limit=limit, part_of_name=q, silent_s=silent_s
        )
    return polled.response(TablesAnswer.about(page))


@router.get("/tables/{table_id}", response_model=TableAnswer, responses=NOT_MODIFIED)
async def read_table(
    table_id: TableId, caller: MayManage, store: Stored, polled: IfNoneMatch
) -> Response:
    """Returns a table without its document."""
    with store.for_project(caller.project_id) as work:
        table = live_table(work, caller, table_id)
    return polled.unless_known(_shown(table))


@router.patch("/tables/{table_id}", response_model=TableAnswer, responses=refused(409))
async def change_table(
    table_id: TableId, body: ChangeTableBody, caller: MayManage, store: Stored, audit: Audited
) -> JSONResponse:
    """Changes where the owner's application shows the places of a table, not its revision."""
    table = set_url_template(store, caller, table_id, body.url_template)
    audit.report("table changed", caller, table_id)
    return _shown(table)


@router.delete("/tables/{table_id}", status_code=204, responses=refused(409))
async def delete_table(
    table_id: TableId, caller: MayManage, use: Use, audit: Audited, if_match: IfMatch = None
) -> Response:
    """Deletes a table; its tools and their hits are gone at once."""
    use.delete(caller, table_id, if_revision=if_match)
    audit.report("table deleted", caller, table_id)
    return Response(status_code=204)


@router.get(
    "/tables/{table_id}/data",
    response_model=DocumentAnswer,
    responses={**NOT_MODIFIED, **refused(413)},
)
async def read_document(
    table_id: TableId,
    caller: MayManage,
    store: Stored,
    polled: IfNoneMatch,
    pointer: PointerInUrl = "",
) -> Response:
    """Returns the document, or the value at ``pointer``; the revision is the ETag."""
    return polled.unless_known(_value(store, caller, table_id, pointer))


@router.post("/tables/{table_id}/data/read", response_model=DocumentAnswer, responses=refused(413))
async def read_document_at(
    body: ReadBody, table_id: TableId, caller: MayManage, store: Stored
) -> Response:
    """Like ``GET …/data``, with a pointer of any length."""
    return _value(store, caller, table_id, body.json_pointer)


@router.put(
    "/tables/{table_id}/data",
    response_model=TableAnswer,
    responses=refused(409),
    openapi_extra=_ANY_JSON,
)
async def replace_document(
    table_id: TableId, request: Request, caller: MayManage, use: Use, change: Change
) -> JSONResponse:
    """Replaces the document, or the value at ``pointer``, by the JSON value of the body.

    A pointer that ends in ``-`` appends to an array.
    """
    value = parse_json(await request.body())
    return _shown(use.replace(caller, table_id, value, **change))


@router.patch(
    "/tables/{table_id}/data",
    response_model=TableAnswer,
    responses=refused(409),
    openapi_extra=_ANY_JSON,
)
async def patch_document(
    table_id: TableId, request: Request, caller: MayManage, use: Use, change: Change
) -> JSONResponse:
    """Applies a JSON Merge Patch (RFC 7396) to the document, or to the value at ``pointer``."""
    patch = parse_json(await request.body())
    return _shown(use.merge(caller, table_id, patch, **change))


@router.delete("/tables/{table_id}/data", response_model=TableAnswer, responses=refused(409, 413))
async def remove_from_document(
    table_id: TableId,
    caller: MayManage,
    use: Use,
    pointer: PartPointerInUrl,
    if_match: IfMatch = None,
) -> JSONResponse:
    """Takes the member or the element at ``pointer`` out; the elements behind it move up."""
    return _shown(use.remove(caller, table_id, **_at(pointer, if_match)))


@router.post(
    "/tables/{table_id}/data/replace", response_model=TableAnswer, responses=refused(409, 413)
)
async def replace_document_at(
    body: ReplaceBody, table_id: TableId, caller: MayManage, use: Use, if_match: IfMatch = None
) -> JSONResponse:
    """Like ``PUT …/data``, with a pointer of any length."""
    change = _at(body.json_pointer, if_match)
    return _shown(use.replace(caller, table_id, body.value, **change))


@router.post(
    "/tables/{table_id}/data/merge", response_model=TableAnswer, responses=refused(409, 413)
)
async def patch_document_at(
    body: MergeBody, table_id: TableId, caller: MayManage, use: Use, if_match: IfMatch = None
) -> JSONResponse:
    """Like ``PATCH …/data``, with a pointer of any length."""
    change = _at(body.json_pointer, if_match)
    return _shown(use.merge(caller, table_id, body.patch, **change))


@router.post(
    "/tables/{table_id}/data/remove", response_model=TableAnswer, responses=refused(409, 413)
)
async def remove_from_document_at(
    body: RemoveBody, table_id: TableId, caller: MayManage, use: Use, if_match: IfMatch = None
) -> JSONResponse:
    """Like ``DELETE …/data``, with a pointer of any length."""
    return _shown(use.remove(caller, table_id, **_at(body.json_pointer, if_match)))


def _value(store: Store, caller: Principal, table_id: int, pointer: str) -> Response:
    with store.for_project(caller.project_id) as work:
        revision, text = value_at(work, caller, table_id, pointer)
    return Response(text, media_type="application/json", headers=etag(revision))


def _shown(table: Table) -> JSONResponse:
    return TableAnswer.about(table).response(headers=etag(table.revision))
