"""Who is calling, and what this deployment is: what a client needs to know first."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter

from context_search import __version__
from context_search.access.authenticate import Identity, identity_of
from context_search.core.callers import Permission, in_order
from context_search.core.limits import MAX_INLINE_BYTES, MAX_WINDOW
from context_search.settings import Settings
from context_search.web.callers import AnyScope, Stored, part
from context_search.web.fields import (
    MAX_POINTER,
    MAX_POINTER_IN_URL,
    MAX_QUESTION,
    MAX_TOP_K,
    AnswerModel,
    Count,
    KnownId,
    Number,
    Time,
)
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["keys"])


class ProjectAnswer(AnswerModel):
    """The project of the credentials. Rows of others may lack a name."""

    id: KnownId
    name: str | None


class OwnKeyAnswer(AnswerModel):
    """The key that was sent, without its text."""

    id: KnownId
    name: str | None
    prefix: str
    created_at: Time


class ModelAnswer(AnswerModel):
    """The embedding model of new indexes; ``price``: of a million tokens."""

    name: str
    dimensions: Count
    window_tokens: Count
    price: Number | None


class MaximaAnswer(AnswerModel):
    """Maxima. Lengths are code points."""

    body_bytes: Count
    answer_bytes: Count
    upload_bytes: Count
    text_window: Count
    pointer_in_url: Count
    pointer: Count
    question: Count
    top_k: Count
    string_chars: Count
    string_chunks: Count
    project_chunks: Count
    project_vector_bytes: Count


class FeaturesAnswer(AnswerModel):
    """What is on; what every deployment of a version has is not listed."""

    console: bool
    project_search: bool
    uploads: bool
    reranking: bool
    tokens: bool


class WhoAmIAnswer(AnswerModel):
    """Who is calling, what that permits, and what the deployment is."""

    project: ProjectAnswer
    kind: Literal["key", "token"]
    key: OwnKeyAnswer | None
    scopes: list[Permission]
    expires_at: Time | None
    version: str
    model: ModelAnswer
    rerank_models: list[str]
    token_issuer: str | None
    limits: MaximaAnswer
    features: FeaturesAnswer

    @classmethod
    def of(cls, reported: Identity, of: Settings) -> WhoAmIAnswer:
        """Returns what a caller is told."""
        key, issuer = reported.key, of.tokens.issuer if of.tokens else None
        return cls(
            project=ProjectAnswer(id=reported.caller.project_id, name=reported.project_name),
            kind="token" if key is None else "key",
            key=None if key is None else OwnKeyAnswer.about(key),
            scopes=in_order(reported.caller.permissions),
            expires_at=None if key is None else key.expires_at,
            version=__version__,
            model=ModelAnswer.about(of.model),
            rerank_models=list(of.rerank_models),
            token_issuer=issuer,
            limits=_limits(of),
            features=FeaturesAnswer(
                console=of.console,
                project_search=reported.has_project_index,
                uploads=bool(of.upload_bucket),
                reranking=bool(of.rerank_models),
                tokens=issuer is not None,
            ),
        )


def _limits(of: Settings) -> MaximaAnswer:
    return MaximaAnswer(
        body_bytes=MAX_INLINE_BYTES,
        answer_bytes=MAX_INLINE_BYTES,
        upload_bytes=of.upload_max_bytes,
        text_window=MAX_WINDOW,
        pointer_in_url=MAX_POINTER_IN_URL,
        pointer=MAX_POINTER,
        question=MAX_QUESTION,
        top_k=MAX_TOP_K,
        string_chars=of.max_node_chars,
        string_chunks=of.max_node_chunks,
        project_chunks=of.project_limits.max_chunks,
        project_vector_bytes=of.project_limits.max_vector_bytes,
    )


@router.get("/whoami")
async def whoami(
    caller: AnyScope, store: Stored, settings: Annotated[Settings, part("parts.settings")]
) -> WhoAmIAnswer:
    """Returns whose credentials these are, what they permit, and what the deployment is."""
    with store.for_project(caller.project_id) as work:
        identity = identity_of(work, caller)
    return WhoAmIAnswer.of(identity, settings)
