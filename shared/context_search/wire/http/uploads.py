"""The routes of uploads: documents that are too large for a request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from context_search.domain.uploads import NewUpload, Upload, UploadFormat
from context_search.services.uploads import (
    URL_LIVES_S,
    CompleteUpload,
    CreateUpload,
    ReadUpload,
)
from context_search.wire.http.dependencies import Caller, TableId
from context_search.wire.http.revisions import IfMatch
from context_search.wire.http.strict_json import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["uploads"])

UploadId = Annotated[int, Path(ge=1, le=2**63 - 1)]


@dataclass(frozen=True, slots=True)
class UploadUseCases:
    """What the routes of this file call."""

    create: CreateUpload
    complete: CompleteUpload
    read: ReadUpload


async def _use_cases(request: Request) -> UploadUseCases:
    return cast(UploadUseCases, request.app.state.use_cases.uploads)


Use = Annotated[UploadUseCases, Depends(_use_cases)]


class CreateUploadBody(BaseModel):
    """``POST …/uploads``: ``size`` in bytes, ``sha256`` in hex, both checked where given."""

    model_config = ConfigDict(extra="forbid", strict=True)

    format: UploadFormat
    size: Annotated[int, Field(ge=1, le=2**40)] | None = None
    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")] | None = None


@router.post("/tables/{table_id}/uploads", status_code=201)
async def create_upload(
    table_id: TableId, body: CreateUploadBody, caller: Caller, use: Use, if_match: IfMatch = None
) -> JSONResponse:
    """Returns the request that puts a document into S3; it must begin within 15 minutes."""
    new = NewUpload(
        caller.project_id, table_id, body.format, body.size, body.sha256, if_revision=if_match
    )
    upload, signed = use.create(caller, new)
    expires_at = upload.created_at + timedelta(seconds=URL_LIVES_S)
    return JSONResponse(
        {
            **upload_answer(upload),
            "url": signed.url,
            "method": signed.method,
            "headers": dict(signed.headers),
            "expires_at": expires_at.isoformat(),
        },
        201,
        {"Cache-Control": "no-store"},
    )


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
