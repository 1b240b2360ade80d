"""The routes of projects and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypedDict, cast

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

from context_search.domain.documents import parse_json
from context_search.domain.model import Table
from context_search.services.catalog.change_document import ChangeDocument
from context_search.services.catalog.tables import (
    CreateProject,
    CreateTable,
    DeleteTable,
    ReadTable,
)
from context_search.web.answers import table_answer
from context_search.web.dependencies import Caller, Internal, TableId, own_project
from context_search.web.idempotency import OPERATORS, Once
from context_search.web.requests import (
    CreateProjectBody,
    CreateTableBody,
    PointerInUrl,
    PointerToPart,
)
from context_search.web.revisions import IfMatch, etag
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["tables"])


@dataclass(frozen=True, slots=True)
class TableUseCases:
    """What the routes of this file call."""

    create_project: CreateProject
    create_table: CreateTable
    read_table: ReadTable
    change_document: ChangeDocument
    delete_table: DeleteTable


async def _use_cases(request: Request) -> TableUseCases:
    return cast(TableUseCases, request.app.state.use_cases.tables)


Use = Annotated[TableUseCases, Depends(_use_cases)]


class _Change(TypedDict):
    pointer: str
    if_revision: int | None


async def _change(
    pointer: PointerInUrl = "",
    if_match: IfMatch = None,
) -> _Change:
    return {"pointer": pointer, "if_revision": if_match}


Change = Annotated[_Change, Depends(_change)]
"""Where to change a document, and which revision it must have for that."""


@router.post("/projects", status_code=201, dependencies=[Internal])
async def create_project(body: CreateProjectBody, use: Use, once: Once) -> Response:
    """Creates a project with its first API key, which is shown this once."""

    def create() -> JSONResponse:
        project, key = use.create_project(body.name)
        return JSONResponse({"id": project.id, "name": project.name, "api_key": key.text}, 201)

    return once(OPERATORS, create)


@router.post("/tables", status_code=201)
async def create_table(body: CreateTableBody, caller: Caller, use: Use, once: Once) -> Response:
    """Stores a JSON document."""
    own_project(caller, body.project_id)

    def create() -> JSONResponse:
        table = use.create_table(caller, body.name, body.description, body.data)
        return JSONResponse(table_answer(table), 201, etag(table.revision))

    return once(caller.project_id, create)


@router.get("/tables/{table_id}")
async def read_table(table_id: TableId, caller: Caller, use: Use) -> JSONResponse:
    """Returns a table without its document."""
    table = use.read_table(caller, table_id)
    return JSONResponse(table_answer(table), headers=etag(table.revision))


@router.delete("/tables/{table_id}", status_code=204)
async def delete_table(table_id: TableId, caller: Caller, use: Use) -> Response:
    """Deletes a table; its tools and their hits are gone at once."""
    use.delete_table(caller, table_id)
    return Response(status_code=204)


@router.get("/tables/{table_id}/data")
async def read_document(
    table_id: TableId, caller: Caller, use: Use, pointer: PointerInUrl = ""
) -> Response:
    """Returns the document, or the value at ``pointer``; the revision is the ETag."""
    revision, text = use.read_table.document(caller, table_id, pointer)
    return Response(text, media_type="application/json", headers=etag(revision))


@router.put("/tables/{table_id}/data")
async def replace_document(
    table_id: TableId, request: Request, caller: Caller, use: Use, change: Change
) -> JSONResponse:
    """Replaces the document, or the value at ``pointer``, by the JSON value of the body.

    A pointer that ends in ``-`` appends to an array.
    """
    value = parse_json(await request.body())
    return _changed(use.change_document.replace(caller, table_id, value, **change))


@router.patch("/tables/{table_id}/data")
async def patch_document(
    table_id: TableId, request: Request, caller: Caller, use: Use, change: Change
) -> JSONResponse:
    """Applies a JSON Merge Patch (RFC 7396) to the document, or to the value at ``pointer``."""
    patch = parse_json(await request.body())
    return _changed(use.change_document.merge(caller, table_id, patch, **change))


@router.delete("/tables/{table_id}/data")
async def remove_from_document(
    table_id: TableId, caller: Caller, use: Use, pointer: PointerToPart, if_match: IfMatch = None
) -> JSONResponse:
    """Takes the member or the element at ``pointer`` out; the elements behind it move up."""
    return _changed(
        use.change_document.remove(caller, table_id, pointer=pointer, if_revision=if_match)
    )


def _changed(table: Table) -> JSONResponse:
    return JSONResponse(table_answer(table), headers=etag(table.revision))
