"""Versions of tables: bodies, answers, routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from context_search.access.lookup import live_table
from context_search.catalog.routes.tables import DocumentAnswer, TableAnswer
from context_search.catalog.routes.uploads import UploadAnswer, going_on
from context_search.catalog.rules.differences import Kind
from context_search.catalog.rules.versions import MAX_READ_BYTES, Cause, Gap
from context_search.catalog.versions import (
    Compared,
    CompareVersions,
    ManageVersions,
    find_version,
    page_of_versions,
    text_of,
    value_in,
)
from context_search.core.json_pointer import split
from context_search.core.model import Table
from context_search.web.callers import MayManage, Stored, TableId, part
from context_search.web.fields import (
    AnswerModel,
    Body,
    Count,
    Cursor,
    KnownId,
    Name,
    PageCursor,
    PointerInUrl,
    Rows,
    Time,
    example,
    source,
)
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal, IdInPath
from context_search.web.request_body import StrictJsonRoute, request_id
from context_search.web.revisions import IfMatch, etag

router = APIRouter(
    prefix="/api/v1/tables/{table_id}/versions", route_class=StrictJsonRoute, tags=["versions"]
)

Revision = IdInPath
Below = Annotated[int | None, Query(alias="cursor", ge=1, le=2**63 - 1), Decimal]


class LabelBody(Body):
    """``PATCH …/versions/{revision}``: null takes the label away."""

    model_config = example(label="before the second draft")
    label: Name | None


class VersionAnswer(AnswerModel):
    """A revision of a table: what it was, who made it, and whether its content is there."""

    revision: Count
    live: Annotated[bool, source("is_live")]
    recorded: Annotated[bool, source("is_recorded")]
    gap: Gap | None
    cause: Cause | None
    actor: str | None
    request_id: str | None
    plan_id: KnownId | None
    label: str | None
    bytes: Annotated[Count | None, source("size")]
    created_at: Time | None
    overwritten_at: Time | None


class VersionsAnswer(AnswerModel):
    """A page of versions, the newest first."""

    versions: Annotated[list[VersionAnswer], Rows]
    cursor: PageCursor


class DifferenceSpanAnswer(AnswerModel):
    """What was there and what is now: the first 200 characters, where they begin, how many."""

    before_start: Annotated[Count | None, source("before", "start")]
    before: Annotated[str | None, source("before", "text")]
    before_chars: Annotated[Count | None, source("before", "chars")]
    after_start: Annotated[Count | None, source("after", "start")]
    after: Annotated[str | None, source("after", "text")]
    after_chars: Annotated[Count | None, source("after", "chars")]


class DifferenceAnswer(AnswerModel):
    """A value that changed. ``in_string``: spans are parts of the string, else of JSON texts."""

    json_pointer: str
    kind: Kind
    in_string: bool
    spans: list[DifferenceSpanAnswer]


class DiffAnswer(AnswerModel):
    """A page of the differences of two revisions."""

    from_: Annotated[Count, source("older"), Field(serialization_alias="from")]
    to: Annotated[Count, source("newer")]
    changes: list[DifferenceAnswer]
    cursor: PageCursor

    @classmethod
    def of(cls, compared: Compared) -> DiffAnswer:
        """Returns what is shown of a comparison."""
        changes = [
            DifferenceAnswer.about(each, spans=[DifferenceSpanAnswer.about(each)])
            for each in compared.differences
        ]
        return cls.about(compared, changes=changes)


Compare = Annotated[CompareVersions, part("compare_versions")]
To = Annotated[int | None, Query(ge=1, le=2**63 - 1), Decimal]
Use = Annotated[ManageVersions, part("versions")]


@router.get("")
async def list_versions(
    table_id: TableId, caller: MayManage, store: Stored, cursor: Below = None
) -> VersionsAnswer:
    """Returns the versions of a table, the newest first, at most 100 a page."""
    with store.for_project(caller.project_id) as work:
        page = page_of_versions(work, live_table(work, caller, table_id), below=cursor)
    return VersionsAnswer.about(page)


@router.delete("", status_code=204)
async def erase_versions(table_id: TableId, caller: MayManage, use: Use) -> Response:
    """Erases the content of all versions but the live one."""
    use.erase_all(caller, table_id)
    return Response(status_code=204)


@router.get("/{revision}")
async def read_version(
    table_id: TableId, revision: Revision, caller: MayManage, store: Stored
) -> VersionAnswer:
    """Returns what is known of a revision."""
    with store.for_project(caller.project_id) as work:
        found = find_version(work, live_table(work, caller, table_id), revision)
    return VersionAnswer.about(found)


@router.get("/{revision}/data", response_model=DocumentAnswer, responses=refused(409, 413))
async def read_version_document(
    table_id: TableId,
    revision: Revision,
    caller: MayManage,
    store: Stored,
    pointer: PointerInUrl = "",
) -> Response:
    """Returns the document as it was, or the value at ``pointer``."""
    path = split(pointer)
    with store.for_project(caller.project_id) as work:
        table = live_table(work, caller, table_id)
        text = text_of(work, table, find_version(work, table, revision), max_bytes=MAX_READ_BYTES)
    return Response(value_in(text, path), media_type="application/json")


@router.get("/{revision}/diff", responses=refused(409, 413, 429))
async def compare_versions(
    table_id: TableId,
    revision: Revision,
    caller: MayManage,
    use: Compare,
    to: To = None,
    cursor: Cursor = 0,
) -> DiffAnswer:
    """Returns what is different in ``to``, which is the live revision unless said otherwise."""
    return DiffAnswer.of(use.compare(caller, table_id, revision, to, after=cursor))


@router.patch("/{revision}", responses=refused(409))
async def label_version(
    table_id: TableId, revision: Revision, body: LabelBody, caller: MayManage, use: Use
) -> VersionAnswer:
    """Gives a version a label, or takes it away; no limit removes a labelled version."""
    return VersionAnswer.about(use.label(caller, table_id, revision, body.label))


@router.delete("/{revision}", status_code=204, responses=refused(409))
async def erase_version(
    table_id: TableId, revision: Revision, caller: MayManage, use: Use
) -> Response:
    """Erases the content of a version."""
    use.erase(caller, table_id, revision)
    return Response(status_code=204)


@router.post(
    "/{revision}/restore",
    response_model=TableAnswer,
    responses={202: {"model": UploadAnswer, "description": "Accepted"}, **refused(409, 413)},
)
async def restore_version(
    table_id: TableId, revision: Revision, caller: MayManage, use: Use, if_match: IfMatch = None
) -> JSONResponse:
    """Makes the content of a version the newest revision; a large one becomes an upload (202)."""
    made = use.restore(caller, table_id, revision, if_revision=if_match, request_id=request_id())
    if isinstance(made, Table):
        return TableAnswer.about(made).response(headers=etag(made.revision))
    return going_on(table_id, made)
