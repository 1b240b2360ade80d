"""Secrets that callers present: made once, shown once, kept as a hash."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime

from context_search.budgets.bounds import check_bound
from context_search.core.callers import (
    ALL_PERMISSIONS,
    CONSOLE_KEY_S,
    MCP_PERMISSIONS,
    SIGN_IN_CODE_S,
    ApiKey,
    Caller,
    Internal,
    KeyKind,
    KeyOwner,
    NewApiKey,
    Operator,
    Permission,
    Principal,
    ProjectKey,
    Token,
    in_order,
    key_hash,
)
from context_search.core.errors import (
    InvalidInputError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from context_search.core.limits import ProjectBounds
from context_search.core.pages import PAGE, Page, page_of
from context_search.store import Store, UnitOfWork

PROJECT_PREFIX = "cs_"
MCP_PREFIX = "cs_mcp_"
_SHOWN_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class NewKey:
    """256 random bits: ``text`` goes to the caller, ``prefix`` and ``hash`` are kept."""

    text: str = field(repr=False)
    kind: str = PROJECT_PREFIX

    @property
    def prefix(self) -> str:
        """Returns the first characters, enough to tell keys apart in a list."""
        return self.text[: len(self.kind) + _SHOWN_CHARACTERS]

    @property
    def hash(self) -> bytes:
        """Returns the hash that is stored instead of the key."""
        return key_hash(self.text)


def new_key(kind: str = PROJECT_PREFIX) -> NewKey:
    """Returns a key that nobody has seen before. ``kind`` says whose it is to those who read it."""
    return NewKey(kind + secrets.token_urlsafe(32), kind)


@dataclass(frozen=True, slots=True)
class KeyOptions:
    """What a new key is to be called, how long it is good for, what it may do, what it is for.

    ``lifetime_s`` None: for ever; a key of the console: for a working day. ``actor``: whose it is
    where the maker is nobody's.
    """

    name: str | None = None
    lifetime_s: float | None = None
    permissions: frozenset[Permission] | None = None
    kind: KeyKind = "standard"
    actor: str | None = None


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A key at the only time when its text is known."""

    key: ApiKey
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ManageKeys:
    """The keys of the caller's project, or of one of its MCP instances.

    Every method raises NotFoundError for a foreign instance.
    """

    store: Store
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    def create(self, caller: Principal, mcp_id: int | None, options: KeyOptions) -> ShownKey:
        """Makes a key that may do no more than the caller's, and ends with it at the latest.

        Raises PermissionDeniedError for more permissions or a longer life, InvalidInputError for a
        longer life than a key made with a token has, ProjectFullError, and NotFoundError where
        there is no such project.
        """
        wanted = caller.permissions if options.permissions is None else options.permissions
        with self.store.for_project(caller.project_id) as work:
            if not work.projects.exists(caller.project_id):  # an operator may name any
                raise NotFoundError("there is no such project")
            owner = owner_of(work, caller, mcp_id)
            usual_s = CONSOLE_KEY_S if options.kind == "console" else None
            asked = replace(options, permissions=wanted, lifetime_s=options.lifetime_s or usual_s)
            made = add_key(work, owner, asked, caller, self.bounds)
            check_lifetime(made, options.lifetime_s, caller)
            return made

    def revoke(self, caller: Principal, mcp_id: int | None, key_id: int) -> None:
        """Makes a key worthless at once, with all that were made with it, and with those.

        All but the branch that the caller's own key is on: a successor that ends the key that it
        came of goes on. An expired key can be revoked, too, and a revoked one again, for what it
        has made. Raises NotFoundError.
        """
        with self.store.for_project(caller.project_id) as work:
            key = work.keys.find(owner_of(work, caller, mcp_id), key_id)
            if key is None:
                raise NotFoundError("there is no such key")
            work.keys.revoke(key.id, asked_by=_key_of(caller))

    def revoke_actor(self, caller: Principal, actor: str) -> int:
        """Makes worthless at once what somebody made with tokens, and with keys made so.

        Keys of the project and of its MCP instances, the caller's own too, and codes that sign in.
        Returns how many keys were good before.
        """
        with self.store.for_project(caller.project_id) as work:
            return work.keys.revoke_actor(caller.project_id, actor)

    def rotate(
        self, caller: Principal, mcp_id: int | None, key_id: int, *, old_expires_in_s: float
    ) -> ShownKey:
        """Makes a key like an old one, which goes on for a while, so that callers can change over.

        What the old one made stays when it ends so; the new one is the caller's making. Same name,
        permissions and lifetime, up to the end of the caller's, and to that of a key made with a
        token. Same actor, unless the caller has one. Raises NotFoundError for a key that is not
        good any more, ProjectFullError, and PermissionDeniedError for one that may do more
        than the caller's.
        """
        with self.store.for_project(caller.project_id) as work:
            owner = owner_of(work, caller, mcp_id)
            old = _live_key(work, owner, key_id)
            options = KeyOptions(old.name, old.lifetime_s, old.permissions, old.kind, old.actor)
            # A key may rotate itself and end at once.
            more = 1 if old_expires_in_s else 0
            made = add_key(work, owner, options, caller, self.bounds, more=more)
            work.keys.expire_within(old.id, old_expires_in_s)
            return made


def page_of_keys(
    work: UnitOfWork,
    caller: Principal,
    mcp_id: int | None,
    *,
    after: int,
    kind: KeyKind | None = None,
    actor: str | None = None,
) -> Page[ApiKey]:
    """Returns keys of a kind and of an actor, or of all, by id, revoked and expired too.

    Raises NotFoundError for a foreign instance.
    """
    owner = owner_of(work, caller, mcp_id)
    keys = work.keys.page(owner, after=after, limit=PAGE + 1, kind=kind, actor=actor)
    return page_of(keys, lambda key: key.id)


def owner_of(work: UnitOfWork, caller: Principal, mcp_id: int | None) -> KeyOwner:
    """Returns whose keys are meant. Raises NotFoundError for a foreign instance."""
    if mcp_id is not None and work.mcp_instances.find(mcp_id, project_id=caller.project_id) is None:
        raise missing_mcp()
    return KeyOwner(caller.project_id, mcp_id)


def missing_mcp() -> NotFoundError:
    """Says that an instance is not there, or not the caller's."""
    return NotFoundError("there is no such MCP instance")


def add_key(
    work: UnitOfWork,
    owner: KeyOwner,
    options: KeyOptions,
    maker: Caller,
    bounds: ProjectBounds,
    *,
    more: int = 1,
) -> ShownKey:
    """Stores a new key; one of an MCP instance may search and nothing else.

    A key never may do more than its ``maker``, nor open more through its instance. A key that a
    project key makes ends with that key at the latest, and is revoked with it. The key of an agent
    that a session of the console makes belongs to the project key behind the session. A key that a
    token makes ends after ``bounds.token_key_s`` at the latest. An operator may make one too many:
    it is the way back into a project. ``more``: how many there are more then. Raises
    PermissionDeniedError, UnauthenticatedError where that key was revoked meanwhile,
    NotFoundError where the instance was deleted, and ProjectFullError.
    """
    if not isinstance(maker, Operator):
        check_bound(work, owner.project_id, "keys", bounds, more=more)
    made = new_key(PROJECT_PREFIX if owner.mcp_id is None else MCP_PREFIX)
    permissions = MCP_PERMISSIONS if owner.mcp_id else options.permissions or ALL_PERMISSIONS
    check_may_give(maker, permissions | _opened_by(work, owner))
    if owner.mcp_id is not None and isinstance(maker, ProjectKey):
        maker = _behind_session(work, maker)
    ends_by = maker.expires_at if isinstance(maker, ProjectKey) else None
    lifetime_s = options.lifetime_s
    if isinstance(maker, Token) and bounds.token_key_s is not None:
        lifetime_s = min(lifetime_s or math.inf, bounds.token_key_s)
    new = NewApiKey(
        options.name,
        made.prefix,
        made.hash,
        permissions,
        lifetime_s,
        ends_by,
        options.kind,
        _key_of(maker),
        maker.actor if isinstance(maker, Token) else None,
        options.actor,
    )
    return ShownKey(work.keys.add(owner, new), made.text)


def _behind_session(work: UnitOfWork, maker: ProjectKey) -> ProjectKey:
    """Returns the project key that a session of the console came from; other keys as they are.

    An agent goes on when a person signs out. A session whose project key is revoked, or ends
    earlier than the session does, answers for itself.
    """
    found = _stored(work, maker.project_id, maker.key_id)
    if found is None or found.kind != "console":
        return maker
    while found is not None and found.kind == "console":
        found = _stored(work, maker.project_id, found.made_by)
    if found is None or found.revoked_at is not None:
        return maker
    ends = found.expires_at
    if ends is not None and (maker.expires_at is None or ends < maker.expires_at):
        return maker
    return replace(maker, key_id=found.id, expires_at=ends)


def _stored(work: UnitOfWork, project_id: int, key_id: int | None) -> ApiKey | None:
    return None if key_id is None else work.keys.find(KeyOwner(project_id), key_id)


def _key_of(caller: Caller) -> int | None:
    return caller.key_id if isinstance(caller, ProjectKey) else None


def _opened_by(work: UnitOfWork, owner: KeyOwner) -> frozenset[Permission]:
    """What a key opens through its instance, whose row decides at each call.

    Nobody changes or deletes the instance before the key is there.
    """
    if owner.mcp_id is None:
        return frozenset()
    mcp = work.mcp_instances.lock(owner.mcp_id, project_id=owner.project_id)
    if mcp is None:
        raise missing_mcp()
    return mcp.also_opens


def check_lifetime(made: ShownKey, wanted_s: float | None, maker: Caller) -> None:
    """Raises where a key was to live longer than it does.

    PermissionDeniedError: than the key that makes it; InvalidInputError: than a token's key may.
    """
    lifetime_s = made.key.lifetime_s or math.inf
    if (wanted_s or 0) > lifetime_s:
        if isinstance(maker, Token):
            raise InvalidInputError(
                f"a key that is made with a token lives for {lifetime_s:.0f} seconds at most"
            )
        raise PermissionDeniedError("a key cannot make one that lives longer than itself")


def check_may_give(giver: Caller, permissions: frozenset[Permission]) -> None:
    """Raises PermissionDeniedError unless the giver has them all."""
    if not isinstance(giver, Internal) and not permissions <= giver.permissions:
        lacking = ", ".join(in_order(permissions - giver.permissions))
        raise PermissionDeniedError(f"a key cannot give what it has not: {lacking}")


def _live_key(work: UnitOfWork, owner: KeyOwner, key_id: int) -> ApiKey:
    key = work.keys.find_live(owner, key_id)
    if key is None:
        raise NotFoundError("there is no such key")
    return key


@dataclass(frozen=True, slots=True)
class ShownCode:
    """A code at the only time when its text, 256 random bits, is known."""

    text: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SignIn:
    """Signs a browser in to the console by a code that is good once: no key in an address."""

    store: Store
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    def code_for(self, caller: Principal) -> ShownCode:
        """Makes a code that signs in once, within minutes, with what the caller may do."""
        text = secrets.token_urlsafe(32)
        with self.store.for_project(caller.project_id) as work:
            ends = work.keys.add_code(caller, key_hash(text), lifetime_s=SIGN_IN_CODE_S)
        return ShownCode(text, ends)

    def redeem(self, code: str) -> ShownKey:
        """Returns a key of the console in exchange, which ends with the maker's at the latest.

        Raises UnauthenticatedError, the same for a code that is unknown, used or has ended, and
        ProjectFullError.
        """
        with self.store.for_all("sign in with a code") as work:
            maker = work.keys.use_code(key_hash(code))
            if maker is None:
                raise UnauthenticatedError("the code is wrong, used or over five minutes old")
            options = KeyOptions("console", CONSOLE_KEY_S, maker.permissions, "console")
            return add_key(work, KeyOwner(maker.project_id), options, maker, self.bounds)
