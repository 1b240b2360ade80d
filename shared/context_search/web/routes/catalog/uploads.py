"""The routes of uploads: documents that are too large for a request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, Field, JsonValue

from context_search.domain.uploads import MAX_UPLOAD_BYTES, NewUpload, Upload, UploadFormat
from context_search.ports.uploads import SignedPut
from context_search.services.catalog.uploads import (
    URL_LIVES_S,
    CompleteUpload,
    CreateUpload,
    ReadUpload,
)
from context_search.web.dependencies import Caller, TableId
from context_search.web.idempotency import Once
from context_search.web.left_out import LeftOut, NotNull
from context_search.web.query_parameters import IdInPath
from context_search.web.requests import Body
from context_search.web.revisions import IfMatch
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["uploads"])

UploadId = IdInPath


@dataclass(frozen=True, slots=True)
class UploadUseCases:
    """What the routes of this file call."""

    create: CreateUpload
    complete: CompleteUpload
    read: ReadUpload


async def _use_cases(request: Request) -> UploadUseCases:
    return cast(UploadUseCases, request.app.state.use_cases.uploads)


Use = Annotated[UploadUseCases, Depends(_use_cases)]


# Said to clients only: the service answers a larger one with 413, and can be given another limit.
_MAX_BYTES: dict[str, JsonValue] = {"maximum": MAX_UPLOAD_BYTES}


_Size = Annotated[int, Field(ge=1, le=2**40, json_schema_extra=_MAX_BYTES)]
_Sha256 = Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$"), AfterValidator(str.lower)]


class CreateUploadBody(Body):
    """``POST …/uploads``: ``size`` in bytes, ``sha256`` in hex, both checked where given."""

    format: UploadFormat
    size: Annotated[_Size | LeftOut, NotNull] = None
    sha256: Annotated[_Sha256 | LeftOut, NotNull] = None


@router.post("/tables/{table_id}/uploads", status_code=201)
async def create_upload(
    table_id: TableId,
    body: CreateUploadBody,
    caller: Caller,
    use: Use,
    once: Once,
    if_match: IfMatch = None,
) -> Response:
    """Returns the request that puts a document into S3; it must begin within 15 minutes."""
    new = NewUpload(
        caller.project_id, table_id, body.format, body.size, body.sha256, if_revision=if_match
    )

    def create() -> JSONResponse:
        upload, signed = use.create(caller, new)
        body = {**upload_answer(upload), **_signed_answer(upload, signed)}
        return JSONResponse(body, 201, {"Cache-Control": "no-store"})

    return once(caller.project_id, create)


@router.post("/tables/{table_id}/uploads/{upload_id}/complete", status_code=202)
async def complete_upload(
    table_id: TableId, upload_id: UploadId, caller: Caller, use: Use
) -> JSONResponse:
    """Orders the import of a document that was uploaded."""
    return JSONResponse(upload_answer(use.complete(caller, table_id, upload_id)), 202)


@router.get("/tables/{table_id}/uploads/{upload_id}")
async def read_upload(
    table_id: TableId, upload_id: UploadId, caller: Caller, use: Use
) -> JSONResponse:
    """Tells how far an upload has come."""
    return JSONResponse(upload_answer(use.read(caller, table_id, upload_id)))


def _signed_answer(upload: Upload, signed: SignedPut) -> dict[str, object]:
    expires_at = upload.created_at + timedelta(seconds=URL_LIVES_S)
    return {
        "url": signed.url,
        "method": signed.method,
        "headers": dict(signed.headers),
        "expires_at": expires_at.isoformat(),
    }


def upload_answer(upload: Upload) -> dict[str, object]:
    """Returns the state of an upload; ``revision`` is the table's after the import."""
    return {
        "upload_id": upload.id,
        "table_id": upload.table_id,
        "format": upload.format,
        "status": upload.state,
        "bytes": upload.bytes,
        "revision": upload.revision,
        "last_error": None if upload.last_error is None else dict(upload.last_error),
        "created_at": upload.created_at.isoformat(),
    }
