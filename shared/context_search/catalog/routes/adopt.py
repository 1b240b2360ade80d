"""Taking over tools of a database that others brought, docs/adopt.md: answer and route."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter
from pydantic import ValidationError

from context_search.catalog.routes.search_config import SearchConfigBody
from context_search.catalog.routes.tools import Use
from context_search.core.config import IndexConfig, Model
from context_search.core.errors import InvalidInputError
from context_search.web.callers import InternalOnly, ProjectId
from context_search.web.fields import AnswerModel, Count, Cursor, KnownId, PageCursor, source
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["operations"])


class TakenOverAnswer(AnswerModel):
    """A tool that has an index from now on."""

    tool_id: KnownId
    table_id: Annotated[KnownId, source("scope", "table_id")]
    json_path: Annotated[str, source("scope", "json_pointer")]


class NotTakenOverAnswer(AnswerModel):
    """A tool that stays as it was, and why."""

    tool_id: KnownId
    code: str
    reason: str


class UnownedToolAnswer(AnswerModel):
    """A tool of no project."""

    tool_id: KnownId
    name: str | None


class UnownedToolsAnswer(AnswerModel):
    """Tools that no call for any project takes over."""

    count: Count
    tools: list[UnownedToolAnswer]


class AdoptionAnswer(AnswerModel):
    """What became of a page of tools."""

    taken_over: list[TakenOverAnswer]
    not_taken_over: list[NotTakenOverAnswer]
    of_no_project: UnownedToolsAnswer
    cursor: PageCursor


@router.post(
    "/internal/projects/{project_id}/adopt", dependencies=[InternalOnly], responses=refused(409)
)
async def adopt(project_id: ProjectId, use: Use, cursor: Cursor = 0) -> AdoptionAnswer:
    """Takes over the project's tools of type search that have no index; says which, and why not."""
    done = use.tools.take_over(
        project_id, lambda stored: _index_config(stored, use.model), after=cursor
    )
    unowned = [
        UnownedToolAnswer(tool_id=tool_id, name=name) for tool_id, name in done.of_no_project.tools
    ]
    of_no_project = UnownedToolsAnswer(count=done.of_no_project.count, tools=unowned)
    return AdoptionAnswer.about(done, of_no_project=of_no_project)


def _index_config(stored: str | None, model: Model) -> IndexConfig:
    """Reads how a tool wants to be indexed; what is no field of ours is its owner's own."""
    try:
        found = json.loads(stored or "null")
    except (ValueError, RecursionError):  # a number of 5,000 digits, or too deep
        raise InvalidInputError("search_config cannot be read") from None
    found = {} if found is None else found
    if not isinstance(found, dict):
        raise InvalidInputError("search_config is no JSON object")
    known = {name: found[name] for name in SearchConfigBody.model_fields if name in found}
    try:
        body = SearchConfigBody.model_validate(known)
    except ValidationError as error:
        names = sorted({str(name) for each in error.errors() for name in each["loc"][:1]})
        message = f"search_config: {', '.join(names)} has a value that is not allowed"
        raise InvalidInputError(message) from None
    body.to_search_config()  # it says what is wrong with its filters
    return body.to_index_config(model)
