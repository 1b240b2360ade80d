"""Judged sets of a project: bodies, answers, routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from context_search.catalog.judged_sets import ManageJudgedSets, find_set
from context_search.catalog.rules.judged_sets import MAX_BYTES
from context_search.web.callers import Owner, Stored, part
from context_search.web.fields import AnswerModel, Body, Count, KnownId, Time, example
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute
from context_search.web.revisions import IfMatch, etag

router = APIRouter(
    prefix="/api/v1/projects/{project_id}", route_class=StrictJsonRoute, tags=["evaluation"]
)

SetName = Annotated[str, Path(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
_LINE = '{"query": "comets", "relevant": [{"json_pointer": "/a", "char_start": 0, "char_end": 6}]}'


class JudgedSetBody(Body):
    """``PUT …/judged-sets/{set_name}``: JSON Lines as one text."""

    model_config = example(lines=_LINE)
    lines: Annotated[str, Field(max_length=MAX_BYTES)]


class JudgedSetAnswer(AnswerModel):
    """A judged set without its lines."""

    name: str
    version: KnownId
    questions: Count
    bytes: Count
    updated_at: Time


class WholeJudgedSetAnswer(JudgedSetAnswer):
    """A judged set with its lines, as they were sent."""

    lines: str


class JudgedSetsAnswer(AnswerModel):
    """All judged sets of a project."""

    judged_sets: list[JudgedSetAnswer]


Use = Annotated[ManageJudgedSets, part("judged_sets")]


@router.get("/judged-sets", responses=refused(409))
async def list_judged_sets(owner: Owner, store: Stored) -> JudgedSetsAnswer:
    """Returns all judged sets of the project by name, without their lines."""
    with store.for_project(owner.project_id) as work:
        found = work.judged_sets.of_project(owner.project_id)
    return JudgedSetsAnswer.about(judged_sets=found)


@router.get(
    "/judged-sets/{set_name}",
    response_model=WholeJudgedSetAnswer,
    responses={**NOT_MODIFIED, **refused(409)},
)
async def read_judged_set(
    set_name: SetName, owner: Owner, store: Stored, polled: IfNoneMatch
) -> Response:
    """Returns a judged set; the version is the ETag."""
    with store.for_project(owner.project_id) as work:
        found = find_set(work, owner, set_name)
    reported = WholeJudgedSetAnswer.about(found)
    return polled.unless_known(reported.response(headers=etag(found.version)))


@router.put(
    "/judged-sets/{set_name}",
    response_model=JudgedSetAnswer,
    responses={201: {"description": "A new one", "model": JudgedSetAnswer}, **refused(409, 413)},
)
async def write_judged_set(
    set_name: SetName, body: JudgedSetBody, owner: Owner, use: Use, if_match: IfMatch
) -> JSONResponse:
    """Writes a judged set, a new one or another in its place; ``If-Match: "0"``: only a new one."""
    written, is_new = use.write(owner, set_name, body.lines, if_version=if_match)
    return JudgedSetAnswer.about(written).response(201 if is_new else 200, etag(written.version))


@router.delete("/judged-sets/{set_name}", status_code=204, responses=refused(409))
async def delete_judged_set(
    set_name: SetName, owner: Owner, use: Use, if_match: IfMatch
) -> Response:
    """Deletes a judged set."""
    use.remove(owner, set_name, if_version=if_match)
    return Response(status_code=204)
