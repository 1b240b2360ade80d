"""Who is calling, keys, what they permit, and the MCP instances that agents connect to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Literal, get_args
from urllib.parse import urlsplit

from context_search.core.errors import UnauthenticatedError

Permission = Literal["search", "manage", "replace"]
"""Permission of a key: what it may be used for. The API calls it a scope."""

ALL_PERMISSIONS: frozenset[Permission] = frozenset(get_args(Permission))
MCP_PERMISSIONS: frozenset[Permission] = frozenset({"search"})

Replacing = Literal["off", "propose", "execute"]
"""Whether agents may preview what a replacement would change, or execute it, too."""
Confirmation = Literal["client", "required"]
"""Who asks a person before an agent replaces something: the client as it likes, or always."""
ToolsOffered = Literal["named", "single", "connector"]
"""How agents search: each tool by its name, one ``search`` over all, or as connectors have it."""
TextsOf = Literal["ours", "anyone"]
"""Who writes what agents find: the instance's owners alone, or anyone."""


KeyKind = Literal["standard", "console"]
"""What a key of a project is for: programs and people, or one session of the console."""
CONSOLE_KEY_S = 28_800
"""Maximum life of a key of the console, in seconds: a working day."""


SIGN_IN_CODE_S = 300
"""Lifetime in seconds of a code that signs a browser in from a terminal."""
MAX_OPEN_CODES = 20
"""Maximum number of unused codes of one key."""


def in_order(permissions: frozenset[Permission]) -> list[Permission]:
    """Returns permissions as they are always written: search, manage, replace."""
    every: Sequence[Permission] = get_args(Permission)
    return [permission for permission in every if permission in permissions]


def key_hash(text: str) -> bytes:
    """Returns sha256 of a key: random keys of 256 bits need no salt and no slow hash."""
    return hashlib.sha256(text.encode()).digest()


@dataclass(frozen=True, slots=True)
class ProjectKey:
    """A caller with a key of a project. ``expires_at``: when the key ends; None: never.

    ``key_id`` says which key it is, in what is kept about changes.
    """

    project_id: int
    permissions: frozenset[Permission] = ALL_PERMISSIONS
    expires_at: datetime | None = None
    key_id: int | None = None
    redacts: ClassVar[bool] = False

    @property
    def actor(self) -> str | None:
        """Returns the actor of a change; None: unknown."""
        return None if self.key_id is None else f"key:{self.key_id}"


@dataclass(frozen=True, slots=True)
class McpKey:
    """A caller with a key of one MCP instance. The key opens MCP and nothing else.

    ``redacts``: keys and personal data are hidden in the texts that the caller gets. ``offers``:
    how it searches.
    """

    project_id: int
    mcp_id: int
    permissions: frozenset[Permission] = MCP_PERMISSIONS
    redacts: bool = False
    offers: ToolsOffered = "named"

    @property
    def actor(self) -> str:
        """Returns who changes something."""
        return f"mcp:{self.mcp_id}"


@dataclass(frozen=True, slots=True)
class Token:
    """A caller with a JSON web token; it may do what its scopes say, in one project.

    ``subject`` stands for the token's subject: a keyed hash of it; None for a token without one.
    """

    project_id: int
    permissions: frozenset[Permission]
    subject: str | None = None
    redacts: ClassVar[bool] = False

    @property
    def actor(self) -> str:
        """Returns who changes something."""
        return f"token:{self.subject}" if self.subject else "token"


@dataclass(frozen=True, slots=True)
class Operator:
    """A caller with the internal secret who acts for the owner of one project."""

    project_id: int
    permissions: ClassVar[frozenset[Permission]] = ALL_PERMISSIONS
    actor: ClassVar[str] = "internal"
    redacts: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Internal:
    """A caller with the internal secret: a program of the operator. It may see every project."""


Principal = ProjectKey | McpKey | Token | Operator
"""A caller who works in one project, ``project_id``, and may do there what ``permissions`` say."""

Caller = Principal | Internal
"""Caller of a use case. None is no caller, so a forgotten one does not type-check."""


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """Owner of keys: a project, or with ``mcp_id`` one MCP instance of it."""

    project_id: int
    mcp_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """A key before it is stored.

    ``lifetime_s`` None: it does not expire by itself. ``ends_by``: it ends then at the latest.
    ``made_by``: the key that asks for it; None: an operator or a token does. ``actor``: who asks
    with a token, as in the versions of documents; None: that of the key that asks.
    ``else_actor`` stands in where no actor is found so.
    """

    name: str | None
    prefix: str
    key_hash: bytes = field(repr=False)
    permissions: frozenset[Permission] = ALL_PERMISSIONS
    lifetime_s: float | None = None
    ends_by: datetime | None = None
    kind: KeyKind = "standard"
    made_by: int | None = None
    actor: str | None = None
    else_actor: str | None = None


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key, of which only the first characters are known.

    ``made_by``: the key that it was made with; None: an operator's or a token's.
    ``actor``: who made it with a token, or with a key that was made so.
    """

    id: int
    name: str | None
    prefix: str
    permissions: frozenset[Permission]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    kind: KeyKind = "standard"
    made_by: int | None = None
    actor: str | None = None

    @property
    def lifetime_s(self) -> float | None:
        """Returns how long the key was made for, in seconds; None: it never expires."""
        return (self.expires_at - self.created_at).total_seconds() if self.expires_at else None


@dataclass(frozen=True, slots=True)
class McpInstance:
    """What an agent connects to: a choice of the project's Search Tools, with keys of its own.

    While ``status`` is false its keys open nothing. What agents may replace is asked for at each
    of their calls. ``reads``: they may read on, find exact text and list what is there, too.
    """

    id: int
    project_id: int
    name: str
    status: bool
    created_at: datetime
    replacing: Replacing = "off"
    confirmation: Confirmation = "client"
    redacts: bool = False
    offers: ToolsOffered = "named"
    reads: bool = False
    texts: TextsOf = "anyone"

    @property
    def also_opens(self) -> frozenset[Permission]:
        """Returns what its keys let agents do beside searching."""
        return frozenset() if self.replacing == "off" else frozenset({"replace"})

    def gives_more_than(self, before: McpInstance) -> bool:
        """Says whether agents may do or see more than before, or may do it more easily."""
        steps: Sequence[Replacing] = ("off", "propose", "execute")
        return (
            steps.index(self.replacing) > steps.index(before.replacing)
            or (self.confirmation, before.confirmation) == ("client", "required")
            or self.status > before.status
            or self.redacts < before.redacts
            or self.reads > before.reads
            or (before.offers == "connector" != self.offers)  # which has no tool that replaces
        )


@dataclass(frozen=True, slots=True)
class McpSettings:
    """What a new MCP instance gives its agents, unless it is said: to read, and not to replace."""

    replacing: Replacing = "off"
    confirmation: Confirmation = "required"
    redacts: bool = False
    offers: ToolsOffered = "named"
    reads: bool = True
    texts: TextsOf = "anyone"


NEW_MCP = McpSettings()


@dataclass(frozen=True, slots=True)
class McpChanges:
    """What becomes of an MCP instance; None: that stays as it is."""

    name: str | None = None
    status: bool | None = None
    replacing: Replacing | None = None
    confirmation: Confirmation | None = None
    redacts: bool | None = None
    offers: ToolsOffered | None = None
    reads: bool | None = None
    texts: TextsOf | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """A Search Tool in an MCP instance; while ``status`` is false agents do not see it."""

    id: int
    mcp_id: int
    tool_id: int
    status: bool


# ---- JSON web tokens (RFC 7519) as credentials: where they may come from, what their claims open.

MAX_PROJECT_ID = 2**63 - 1
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_DECIMAL = re.compile(r"[1-9][0-9]{0,18}")
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def looks_like_token(credential: str) -> bool:
    """Says whether a credential has the three parts of a token; no key of ours has a dot."""
    return _FORM.fullmatch(credential) is not None


def is_safe_address(url: str) -> bool:
    """Says whether the way to an address is safe from changes: https, or this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.username or parts.password or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _THIS_MACHINE)


def caller_of_claims(claims: Mapping[str, object], project_claim: str) -> Token:
    """Returns what the claims of a genuine token open.

    ``project_claim`` names the claim that holds the project's id, a positive integer or its
    decimal text. Scopes are those of ours in ``scope`` (RFC 9068, 2.2.3) or ``scp``, separated by
    spaces or in a list; others mean nothing here. Without any, nothing is permitted. A token that
    an agent had made for ``/mcp`` permits on every route what an agent may: providers put scopes
    into tokens by rule, whatever was asked for.
    Raises UnauthenticatedError for a token of no project.
    """
    project_id = _project_id(claims.get(project_claim))
    if project_id is None:
        raise UnauthenticatedError("the token names no project")
    granted = _words(claims["scope"] if "scope" in claims else claims.get("scp"))
    allowed = MCP_PERMISSIONS if _is_for_agents(claims) else ALL_PERMISSIONS
    return Token(project_id, frozenset(p for p in allowed if p in granted))


def _is_for_agents(claims: Mapping[str, object]) -> bool:
    """Says whether one of the audiences is an MCP endpoint, also where another one is not."""
    return any(str(each).rstrip("/").endswith("/mcp") for each in _words(claims.get("aud")))


def _project_id(claim: object) -> int | None:
    if isinstance(claim, str) and _DECIMAL.fullmatch(claim):
        claim = int(claim)
    if not isinstance(claim, int) or isinstance(claim, bool):
        return None
    return claim if 0 < claim <= MAX_PROJECT_ID else None


def _words(claim: object) -> list[object]:
    if isinstance(claim, str):
        return [*claim.split(" ")]
    return claim if isinstance(claim, list) else []
