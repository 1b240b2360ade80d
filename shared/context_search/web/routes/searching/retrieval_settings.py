"""The routes of a project's retrieval settings."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse

from context_search.domain.retrieval import StoredSettings
from context_search.services.searching.retrieval_settings import ManageRetrievalSettings
from context_search.web.dependencies import Caller, ProjectId, ReadCaller
from context_search.web.retrieve_answers import settings_answer
from context_search.web.retrieve_requests import SettingsBody
from context_search.web.revisions import IfMatch, etag
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["retrieval"])


async def _use_cases(request: Request) -> ManageRetrievalSettings:
    return cast(ManageRetrievalSettings, request.app.state.use_cases.retrieval_settings)


Use = Annotated[ManageRetrievalSettings, Depends(_use_cases)]


@router.get("/projects/{project_id}/retrieval-settings")
async def read_settings(project_id: ProjectId, caller: ReadCaller, use: Use) -> JSONResponse:
    """Returns how the project retrieves; the version is the ETag."""
    return _answer(project_id, use.read(caller, project_id))


@router.patch("/projects/{project_id}/retrieval-settings")
async def change_settings(
    project_id: ProjectId, body: SettingsBody, caller: Caller, use: Use, if_match: IfMatch
) -> JSONResponse:
    """Changes what the body names."""
    versions = [version for version in (if_match, body.version) if version is not None]
    return _answer(
        project_id, use.change(caller, project_id, body.applied_to, if_versions=versions)
    )


def _answer(project_id: int, stored: StoredSettings) -> JSONResponse:
    return JSONResponse(settings_answer(project_id, stored), headers=etag(stored.version))
