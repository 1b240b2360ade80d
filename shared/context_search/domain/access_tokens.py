"""JSON web tokens (RFC 7519) as credentials: where they may come from, what their claims open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import get_args
from urllib.parse import urlsplit

from context_search.domain.access import Permission, Token
from context_search.domain.errors import UnauthenticatedError

MAX_PROJECT_ID = 2**63 - 1
_FORM = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_DECIMAL = re.compile(r"[1-9][0-9]{0,18}")
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")


def looks_like_token(credential: str) -> bool:
    """Says whether a credential has the three parts of a token; no key of ours has a dot."""
    return _FORM.fullmatch(credential) is not None


def is_safe_address(url: str) -> bool:
    """Says whether nobody on the way can change what is read there: https, or this machine."""
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
    spaces or in a list; others mean nothing here. Without any, nothing is permitted.
    Raises UnauthenticatedError for a token of no project.
    """
    project_id = _project_id(claims.get(project_claim))
    if project_id is None:
        raise UnauthenticatedError("the token names no project")
    granted = _words(claims["scope"] if "scope" in claims else claims.get("scp"))
    every: tuple[Permission, ...] = get_args(Permission)
    return Token(project_id, frozenset(p for p in every if p in granted))


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
