"""How much of the past a project keeps: bodies, answers, routes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from context_search.catalog.project_settings import ManageSettings
from context_search.catalog.rules.settings import StoredSettings
from context_search.catalog.rules.versions import HistoryLimits
from context_search.web.callers import Owner, Stored, part
from context_search.web.fields import AnswerModel, Body, Count, KnownId, example
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute
from context_search.web.revisions import IfMatch, etag

router = APIRouter(
    prefix="/api/v1/projects/{project_id}/history-settings",
    route_class=StrictJsonRoute,
    tags=["versions"],
)
_DEFAULTS = asdict(HistoryLimits())


class HistorySettingsBody(Body):
    """``PATCH …/history-settings``: what is left out stays, null is the default again."""

    model_config = example(keep_days=90, keep_count=500)
    keep_days: Annotated[int, Field(ge=1, le=3_650)] | None = None
    keep_count: Annotated[int, Field(ge=0, le=1_000)] | None = None
    max_bytes: Annotated[int, Field(ge=1_000_000, le=2_000_000_000)] | None = None

    def applied_to(self, settings: HistoryLimits) -> HistoryLimits:
        """Returns the settings with the body's changes."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        usual = {name: _DEFAULTS[name] for name, value in given.items() if value is None}
        return HistoryLimits(**{**asdict(settings), **given, **usual})


class HistorySettingsAnswer(AnswerModel):
    """How much of the past a project keeps; version 0 are the defaults."""

    project_id: KnownId
    version: Count
    keep_days: Count
    keep_count: Count
    max_bytes: Count


Use = Annotated[ManageSettings[HistoryLimits], part("history_settings")]


@router.get("", response_model=HistorySettingsAnswer, responses=NOT_MODIFIED)
async def read_history_settings(caller: Owner, store: Stored, polled: IfNoneMatch) -> Response:
    """Returns how much of the past is kept; the version is the ETag."""
    with store.for_project(caller.project_id) as work:
        stored = work.projects.settings(HistoryLimits, caller.project_id)
    return polled.unless_known(_answer(caller.project_id, stored))


@router.patch("", response_model=HistorySettingsAnswer, responses=refused(409))
async def change_history_settings(
    body: HistorySettingsBody, caller: Owner, use: Use, if_match: IfMatch
) -> JSONResponse:
    """Changes what the body names."""
    versions = [] if if_match is None else [if_match]
    return _answer(caller.project_id, use.change(caller, body.applied_to, if_versions=versions))


def _answer(project_id: int, stored: StoredSettings[HistoryLimits]) -> JSONResponse:
    answer = HistorySettingsAnswer.about(stored, stored.settings, project_id=project_id)
    return answer.response(headers=etag(stored.version))
