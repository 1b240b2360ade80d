"""Keys: bodies and answers of all of them, routes of those of a project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BeforeValidator, Field, model_validator

from context_search.access.keys import KeyOptions, ManageKeys, page_of_keys
from context_search.access.routes.idempotency import Idempotent
from context_search.core.callers import (
    CONSOLE_KEY_S,
    KeyKind,
    Permission,
    Principal,
    in_order,
)
from context_search.web.audit import Audit, Audited
from context_search.web.callers import KeyId, Owner, OwnerOrOperator, Stored, part
from context_search.web.fields import (
    AnswerModel,
    Body,
    Cursor,
    KnownId,
    LeftOut,
    Name,
    NotNull,
    PageCursor,
    Rows,
    Time,
    example,
    source,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["keys"])

_YEAR_S = 31_536_000
_Scopes = Annotated[list[Permission], Field(min_length=1, max_length=3)]
Lifetime = Annotated[int, Field(ge=1, le=10 * _YEAR_S)]
"""Seconds that a key is good for."""


class CreateMcpKeyBody(Body):
    """``POST …/mcps/{mcp_id}/keys``. ``expires_in``: seconds.

    Without it the key ends with its maker's key, if that ends. A longer life than that is 403.
    """

    model_config = example(name="desk")
    name: Name | None = None
    expires_in: Annotated[Lifetime | LeftOut, NotNull] = None

    def options(self) -> KeyOptions:
        """Returns what is wanted."""
        return KeyOptions(self.name, self.expires_in)


class CreateKeyBody(CreateMcpKeyBody):
    """``POST …/projects/{project_id}/keys``. Without ``scopes`` it has those of the caller's."""

    model_config = example(name="ci", scopes=["search"], expires_in=7_776_000)
    scopes: Annotated[_Scopes | LeftOut, NotNull] = None
    kind: KeyKind = "standard"

    @model_validator(mode="after")
    def _is_short(self) -> CreateKeyBody:
        if self.kind == "console" and (self.expires_in or 0) > CONSOLE_KEY_S:
            raise ValueError(f"a key of the console lives for {CONSOLE_KEY_S} seconds at most")
        return self

    def options(self) -> KeyOptions:
        """Returns what is wanted."""
        permissions = None if self.scopes is None else frozenset(self.scopes)
        return KeyOptions(self.name, self.expires_in, permissions, self.kind)


class RotateKeyBody(Body):
    """``POST …/keys/{key_id}/rotate``: the old key is good for so many seconds more."""

    model_config = example(old_expires_in=3_600)
    old_expires_in: Annotated[int, Field(ge=0, le=30 * 86_400)] = 3_600


class KeyAnswer(AnswerModel):
    """A key without its text. ``made_by``: the key that it was made with, if that is known.

    ``actor``: who made it with a token, or with a key that was made so.
    """

    id: KnownId
    name: str | None
    kind: KeyKind
    made_by: KnownId | None
    actor: str | None
    prefix: str
    scopes: Annotated[list[Permission], source("permissions"), BeforeValidator(in_order)]
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None
    revoked_at: Time | None


class NewKeyAnswer(KeyAnswer):
    """A key with its text, this once."""

    api_key: str


MAKES_KEY: dict[str, Any] = {
    "status_code": 201,
    "response_model": NewKeyAnswer,
    "responses": refused(409),
}
"""What a route says that answers with a new key."""


class RevokedKeysAnswer(AnswerModel):
    """How many keys were revoked."""

    revoked: Annotated[int, Field(ge=0)]


class KeysAnswer(AnswerModel):
    """A page of keys."""

    keys: Annotated[list[KeyAnswer], Rows]
    cursor: PageCursor


Actor = Annotated[str, Query(pattern="^token(:[0-9a-f]{16})?$")]
"""Who presents tokens, as in versions of documents; ``token``: all whose tokens name nobody."""
UseKeys = Annotated[ManageKeys, part("access.keys")]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that a path is about: those of a project, or of an MCP instance."""

    use: ManageKeys
    caller: Principal
    mcp_id: int | None
    audit: Audit

    def create(self, once: Idempotent, options: KeyOptions) -> Response:
        """Makes one; it is shown this once."""

        def create() -> JSONResponse:
            made = self.use.create(self.caller, self.mcp_id, options)
            self.audit.report("key made", self.caller, made.key.id)
            return NewKeyAnswer.about(made.key, api_key=made.text).response(201)

        return once.answer(self.caller.project_id, create)

    def revoke(self, key_id: int) -> Response:
        """Revokes one of them."""
        self.use.revoke(self.caller, self.mcp_id, key_id)
        self.audit.report("key revoked", self.caller, key_id)
        return Response(status_code=204)

    def rotate(self, once: Idempotent, key_id: int, body: RotateKeyBody | None) -> Response:
        """Makes one like another, which goes on for a while."""
        old_expires_in_s = (body or RotateKeyBody()).old_expires_in

        def rotate() -> JSONResponse:
            made = self.use.rotate(
                self.caller, self.mcp_id, key_id, old_expires_in_s=old_expires_in_s
            )
            self.audit.report("key rotated", self.caller, key_id)
            return NewKeyAnswer.about(made.key, api_key=made.text).response(201)

        return once.answer(self.caller.project_id, rotate)


async def _of_project(owner: Owner, use: UseKeys, audit: Audited) -> Keys:
    return Keys(use, owner, None, audit)


ProjectKeys = Annotated[Keys, Depends(_of_project)]


@router.post("/projects/{project_id}/keys", **MAKES_KEY)
async def create_key(
    caller: OwnerOrOperator, use: UseKeys, body: CreateKeyBody, once: Idempotent, audit: Audited
) -> Response:
    """Makes a key for the project, which is shown this once; with the internal secret the first."""
    return Keys(use, caller, None, audit).create(once, body.options())


@router.get("/projects/{project_id}/keys", responses=refused(409))
async def list_keys(
    owner: Owner,
    store: Stored,
    cursor: Cursor = 0,
    kind: KeyKind | Literal["all"] = "standard",
    actor: Actor | None = None,
) -> KeysAnswer:
    """Returns the project's keys without their texts, revoked and expired ones too.

    Those of the console only if they are asked for. ``actor``: what somebody made with tokens.
    """
    wanted = None if kind == "all" else kind
    with store.for_project(owner.project_id) as work:
        page = page_of_keys(work, owner, None, after=cursor, kind=wanted, actor=actor)
    return KeysAnswer.about(page)


@router.delete("/projects/{project_id}/keys", responses=refused(409))
async def revoke_keys_of_actor(
    owner: Owner, use: UseKeys, actor: Actor, audit: Audited
) -> RevokedKeysAnswer:
    """Revokes all that somebody made with tokens, and with keys made so.

    Keys of the project, of the console and of MCP instances.
    """
    revoked = use.revoke_actor(owner, actor)
    audit.report("keys of an actor revoked", owner, actor)
    return RevokedKeysAnswer(revoked=revoked)


@router.delete("/projects/{project_id}/keys/{key_id}", status_code=204, responses=refused(409))
async def revoke_key(keys: ProjectKeys, key_id: KeyId) -> Response:
    """Revokes a key and those made with it: the next request with one is answered 401."""
    return keys.revoke(key_id)


@router.post("/projects/{project_id}/keys/{key_id}/rotate", **MAKES_KEY)
async def rotate_key(
    keys: ProjectKeys, key_id: KeyId, once: Idempotent, body: RotateKeyBody | None = None
) -> Response:
    """Makes a key like this one, which goes on for ``old_expires_in`` seconds."""
    return keys.rotate(once, key_id, body)
