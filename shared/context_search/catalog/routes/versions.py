"""Versions of tables: bodies, answers, routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from context_search.catalog.compare_versions import Compared, CompareVersions
from context_search.catalog.routes.tables import DocumentAnswer, TableAnswer
from context_search.catalog.routes.uploads import UploadAnswer, going_on
from context_search.catalog.rules.differences import Difference, Kind
from context_search.catalog.rules.versions import Cause, Gap, Version
from context_search.catalog.versions import ManageVersions
from context_search.core.model import Table
from context_search.web.callers import MayManage, TableId, part
from context_search.web.fields import (
    Answer,
    Body,
    Count,
    Cursor,
    KnownId,
    Name,
    NextCursor,
    PointerInUrl,
    Time,
    example,
    next_cursor,
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


class VersionAnswer(Answer):
    """A revision of a table: what it was, who made it, and whether its content is there."""

    revision: Count
    live: bool
    recorded: bool
    gap: Gap | None
    cause: Cause | None
    actor: str | None
    request_id: str | None
    plan_id: KnownId | None
    label: str | None
    bytes: Count | None
    created_at: Time | None
    overwritten_at: Time | None

    @classmethod
    def of(cls, version: Version) -> VersionAnswer:
        """Returns what is shown of a version."""
        return cls(
            revision=version.revision,
            live=version.is_live,
            recorded=version.gap is None,
            gap=version.gap,
            cause=version.cause,
            actor=version.actor,
            request_id=version.request_id,
            plan_id=version.plan_id,
            label=version.label,
            bytes=version.size,
            created_at=version.created_at,
            overwritten_at=version.overwritten_at,
        )


class VersionsAnswer(Answer):
    """A page of versions, the newest first."""

    versions: list[VersionAnswer]
    cursor: NextCursor | None


class DifferenceSpanAnswer(Answer):
    """What was there and what is now: the first 200 characters, where they begin, how many."""

    before_start: Count | None
    before: str | None
    before_chars: Count | None
    after_start: Count | None
    after: str | None
    after_chars: Count | None

    @classmethod
    def of(cls, difference: Difference) -> DifferenceSpanAnswer:
        """Returns both sides of a difference."""
        before, after = difference.before, difference.after
        return cls(
            before_start=before.start if before else None,
            before=before.text if before else None,
            before_chars=before.chars if before else None,
            after_start=after.start if after else None,
            after=after.text if after else None,
            after_chars=after.chars if after else None,
        )


class DifferenceAnswer(Answer):
    """A value that changed. ``in_string``: spans are parts of the string, else of JSON texts."""

    json_pointer: str
    kind: Kind
    in_string: bool
    spans: list[DifferenceSpanAnswer]


class DiffAnswer(Answer):
    """A page of the differences of two revisions."""

    from_: Annotated[Count, Field(serialization_alias="from")]
    to: Count
    changes: list[DifferenceAnswer]
    cursor: NextCursor | None

    @classmethod
    def of(cls, compared: Compared) -> DiffAnswer:
        """Returns what is shown of a comparison."""
        changes = [
            DifferenceAnswer(
                json_pointer=each.json_pointer,
                kind=each.kind,
                in_string=each.in_string,
                spans=[DifferenceSpanAnswer.of(each)],
            )
            for each in compared.differences
        ]
        return cls(
            from_=compared.older,
            to=compared.newer,
            changes=changes,
            cursor=next_cursor(compared.next_after),
        )


Compare = Annotated[CompareVersions, part("compare_versions")]
To = Annotated[int | None, Query(ge=1, le=2**63 - 1), Decimal]
Use = Annotated[ManageVersions, part("versions")]


@router.get("")
async def list_versions(
    table_id: TableId, caller: MayManage, use: Use, cursor: Below = None
) -> VersionsAnswer:
    """Returns the versions of a table, the newest first, at most 100 a page."""
    page = use.page(caller, table_id, below=cursor)
    versions = [VersionAnswer.of(version) for version in page.rows]
    return VersionsAnswer(versions=versions, cursor=next_cursor(page.next_after))


@router.delete("", status_code=204)
async def erase_versions(table_id: TableId, caller: MayManage, use: Use) -> Response:
    """Erases the content of all versions but the live one."""
    use.erase_all(caller, table_id)
    return Response(status_code=204)


@router.get("/{revision}")
async def read_version(
    table_id: TableId, revision: Revision, caller: MayManage, use: Use
) -> VersionAnswer:
    """Returns what is known of a revision."""
    return VersionAnswer.of(use.read(caller, table_id, revision))


@router.get("/{revision}/data", response_model=DocumentAnswer, responses=refused(409, 413))
async def read_version_document(
    table_id: TableId, revision: Revision, caller: MayManage, use: Use, pointer: PointerInUrl = ""
) -> Response:
    """Returns the document as it was, or the value at ``pointer``."""
    text = use.read_document(caller, table_id, revision, pointer)
    return Response(text, media_type="application/json")


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
    return VersionAnswer.of(use.label(caller, table_id, revision, body.label))


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
        return TableAnswer.of(made).response(headers=etag(made.revision))
    return going_on(table_id, made)
