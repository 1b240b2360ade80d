"""A project's retrieval settings: bodies, answers, routes."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from context_search.catalog.project_settings import ManageSettings
from context_search.catalog.rules.settings import StoredSettings
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.text.sensitive.kinds import SENSITIVE_KINDS, SensitiveKind
from context_search.web.callers import Owner, ReadOwner, Stored, part
from context_search.web.fields import (
    AnswerModel,
    CamelBody,
    Count,
    KnownId,
    Listed,
    MaxTokens,
    MinScore,
    Share,
    TopK,
    example,
    source,
)
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute
from context_search.web.revisions import IfMatch, etag

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["retrieval"])


Neighbours = Annotated[int, Field(ge=0, le=3)]
Version = Annotated[int, Field(ge=0, le=2**63 - 1)]

_DEFAULTS = RetrievalSettings()


class RedactionBody(CamelBody):
    """Whether redaction is on, and for which kinds."""

    model_config = example(enabled=True, kinds=["email", "key"])
    enabled: bool | None = None
    kinds: Annotated[list[SensitiveKind], Field(max_length=len(SENSITIVE_KINDS))] | None = None


class SettingsBody(CamelBody):
    """``PATCH …/retrieval-settings``: what is left out stays, null is the default again.

    ``version`` does what ``If-Match`` does.
    """

    model_config = example(maxTokens=3_000, redaction={"kinds": ["email", "key"]})
    top_k: TopK | None = None
    min_score: MinScore | None = None
    max_tokens: MaxTokens | None = None
    neighbours: Neighbours | None = None
    redaction: RedactionBody | None = None
    version: Version | None = None

    def applied_to(self, settings: RetrievalSettings) -> RetrievalSettings:
        """Returns the settings with the body's changes."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        given.pop("version", None)
        if "redaction" in given:
            given |= _redaction(given.pop("redaction"))
        names = [field.name for field in fields(RetrievalSettings)]
        values = {name: given.get(name, getattr(settings, name)) for name in names}
        return RetrievalSettings(
            **{
                name: getattr(_DEFAULTS, name) if value is None else value
                for name, value in values.items()
            }
        )


def _redaction(body: RedactionBody | None) -> dict[str, object]:
    if body is None:
        return {"redaction": None, "kinds": None}
    given: dict[str, object] = {}
    if "enabled" in body.model_fields_set:
        given["redaction"] = body.enabled
    if "kinds" in body.model_fields_set:
        named = body.kinds
        given["kinds"] = (
            None if named is None else tuple(kind for kind in SENSITIVE_KINDS if kind in named)
        )
    return given


class RedactionAnswer(AnswerModel):
    """Whether redaction is on, and for which kinds."""

    enabled: Annotated[bool, source("redaction")]
    kinds: Annotated[list[SensitiveKind], Listed]


class RetrievalSettingsAnswer(AnswerModel):
    """The settings of a project; version 0 are the defaults."""

    project_id: KnownId
    version: Count
    top_k: Annotated[KnownId, Field(serialization_alias="topK")]
    min_score: Annotated[Share, Field(serialization_alias="minScore")]
    max_tokens: Annotated[KnownId, Field(serialization_alias="maxTokens")]
    neighbours: Count
    redaction: RedactionAnswer


Use = Annotated[ManageSettings[RetrievalSettings], part("retrieval_settings")]


@router.get(
    "/projects/{project_id}/retrieval-settings",
    response_model=RetrievalSettingsAnswer,
    responses={**NOT_MODIFIED, **refused(409)},
)
async def read_retrieval_settings(
    caller: ReadOwner, store: Stored, polled: IfNoneMatch
) -> Response:
    """Returns how the project retrieves; the version is the ETag."""
    with store.for_project(caller.project_id) as work:
        stored = work.projects.settings(RetrievalSettings, caller.project_id)
    return polled.unless_known(_answer(caller.project_id, stored))


@router.patch(
    "/projects/{project_id}/retrieval-settings",
    response_model=RetrievalSettingsAnswer,
    responses=refused(409),
)
async def change_retrieval_settings(
    body: SettingsBody, caller: Owner, use: Use, if_match: IfMatch
) -> JSONResponse:
    """Changes what the body names."""
    versions = [version for version in (if_match, body.version) if version is not None]
    return _answer(caller.project_id, use.change(caller, body.applied_to, if_versions=versions))


def _answer(project_id: int, stored: StoredSettings[RetrievalSettings]) -> JSONResponse:
    settings = stored.settings
    answer = RetrievalSettingsAnswer.about(
        stored, settings, project_id=project_id, redaction=settings
    )
    return answer.response(headers=etag(stored.version))
