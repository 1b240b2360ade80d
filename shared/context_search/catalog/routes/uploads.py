"""Uploads, for documents that are too large for a request: bodies, answers, routes."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, Field, JsonValue, WithJsonSchema

from context_search.access.routes.idempotency import Idempotent
from context_search.catalog.rules.uploads import NewUpload, Upload, UploadFormat, UploadState
from context_search.catalog.uploads import URL_LIVES_S, ManageUploads, find_upload
from context_search.core.limits import MAX_UPLOAD_BYTES
from context_search.web.callers import MayManage, Stored, TableId, part
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    KnownId,
    LeftOut,
    NotNull,
    StoredJsonAnswer,
    Time,
    example,
    source,
)
from context_search.web.problems import refused
from context_search.web.query_parameters import IdInPath
from context_search.web.request_body import StrictJsonRoute, request_id
from context_search.web.revisions import IfMatch

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["uploads"])

UploadId = IdInPath


Use = Annotated[ManageUploads, part("uploads")]


# Said to clients only: the service answers a larger one with 413, and can be given another limit.
_MAX_BYTES: dict[str, JsonValue] = {"maximum": MAX_UPLOAD_BYTES}


_Sha256 = Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$"), AfterValidator(str.lower)]


class CreateUploadBody(Body):
    """``POST …/uploads``: ``size`` in bytes; ``sha256`` in hex, checked where given."""

    model_config = example(format="json", size=20_481_234)
    format: UploadFormat
    size: Annotated[int, Field(ge=1, le=2**40, json_schema_extra=_MAX_BYTES)]
    sha256: Annotated[_Sha256 | LeftOut, NotNull] = None


class UploadErrorAnswer(StoredJsonAnswer):
    """Why the document was not imported."""

    code: str
    message: str
    retryable: bool


class UploadAnswer(AnswerModel):
    """The state of an upload; ``revision`` is the table's after the import.

    ``size``, ``sha256`` and ``if_revision`` are what was said of it before, ``bytes`` its length.
    ``from_revision``: the document is a version of the table.
    """

    upload_id: Annotated[KnownId, source("id")]
    table_id: KnownId | LeftOut
    format: UploadFormat
    status: Annotated[UploadState, source("state")]
    size: Count
    sha256: str | None
    if_revision: Count | None
    bytes: Count | None
    revision: Count | None
    last_error: UploadErrorAnswer | None
    created_at: Time
    from_revision: Absent[Count] = None


class NewUploadAnswer(UploadAnswer):
    """An upload and the request that puts its document into S3."""

    url: str
    method: Annotated[str, WithJsonSchema({"type": "string", "const": "PUT"})]
    headers: dict[str, str]
    expires_at: Time


def going_on(table_id: int, upload: Upload) -> JSONResponse:
    """Returns the 202 of an upload that a worker imports: where its state is, and when to ask."""
    headers = {**_place_of(table_id, upload.id), "Retry-After": "1"}
    return UploadAnswer.about(upload).response(202, headers)


def _place_of(table_id: int, upload_id: int) -> dict[str, str]:
    return {"Location": f"/api/v1/tables/{table_id}/uploads/{upload_id}"}


@router.post(
    "/tables/{table_id}/uploads",
    status_code=201,
    response_model=NewUploadAnswer,
    responses=refused(409),
)
async def create_upload(
    table_id: TableId,
    body: CreateUploadBody,
    caller: MayManage,
    use: Use,
    once: Idempotent,
    if_match: IfMatch = None,
) -> Response:
    """Returns the request that puts a document into S3; it must begin within 15 minutes."""
    new = NewUpload(
        caller.project_id,
        table_id,
        body.format,
        body.size,
        body.sha256,
        if_revision=if_match,
        actor=caller.actor,
        request_id=request_id(),
    )

    def create() -> JSONResponse:
        upload, put = use.create(caller, new)
        expires_at = upload.created_at + timedelta(seconds=URL_LIVES_S)
        answer = NewUploadAnswer.about(upload, put, expires_at=expires_at)
        return answer.response(201, _place_of(table_id, upload.id))

    return once.answer(caller.project_id, create)


@router.post(
    "/tables/{table_id}/uploads/{upload_id}/complete",
    status_code=202,
    response_model=UploadAnswer,
    responses=refused(409, 413),
)
async def complete_upload(
    table_id: TableId, upload_id: UploadId, caller: MayManage, use: Use
) -> JSONResponse:
    """Orders the import of a document that was uploaded."""
    return going_on(table_id, use.complete(caller, table_id, upload_id))


@router.get("/tables/{table_id}/uploads/{upload_id}")
async def read_upload(
    table_id: TableId, upload_id: UploadId, caller: MayManage, store: Stored
) -> UploadAnswer:
    """Tells how far an upload has come."""
    with store.for_project(caller.project_id) as work:
        upload = find_upload(work, caller, table_id, upload_id)
    return UploadAnswer.about(upload)
