"""What routes are given: the use cases of their function, and who is calling.

Everything is ``async def`` although the use cases block: a Lambda instance serves one request at a
time, and FastAPI would move plain functions to a thread pool for nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, cast

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.security import APIKeyHeader, HTTPBearer

from context_search.core.callers import McpKey, Operator, Permission, Principal
from context_search.core.errors import (
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from context_search.store import Store
from context_search.web.metrics import Credential, emit_refused
from context_search.web.query_parameters import IdInPath

if TYPE_CHECKING:
    from context_search.access.authenticate import BearerAuthenticator, InternalSecrets
    from context_search.access.idempotency import Idempotency

TableId = IdInPath
ProjectId = IdInPath
ToolId = IdInPath
KeyId = IdInPath
McpId = IdInPath


class AccessUseCases(Protocol):
    """What every function has to tell who is calling."""

    @property
    def bearers(self) -> BearerAuthenticator: ...
    @property
    def internal_secrets(self) -> InternalSecrets: ...
    @property
    def token_issuer(self) -> str | None: ...
    @property
    def idempotency(self) -> Idempotency: ...


def bearer_key(request: Request) -> str | None:
    """Returns the key or token of ``Authorization: Bearer <key>``, or None."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return (key.strip() or None) if scheme.lower() == "bearer" else None


@contextmanager
def counting_refusals(
    request: Request, credential: Credential, shown: str | None
) -> Iterator[None]:
    """Counts a credential that is refused, and raises on. Nothing shown is nothing refused."""
    try:
        yield
    except (UnauthenticatedError, PermissionDeniedError) as error:
        if shown:
            emit_refused(credential, f"{request.method} {request.scope['route'].path}", error.code)
        raise


CredentialCheck = Callable[[Request], Awaitable[object]]
_checks: dict[Callable[..., Any], CredentialCheck] = {}
"""Of each dependency that looks at credentials: the same without what comes from path and body."""
_credentials: dict[Callable[..., Any], frozenset[str]] = {}
"""Of each of them: the scopes of keys, and the secret, of which any one is enough."""
INTERNAL_SECRET: Final = "internal secret"  # noqa: S105 - what it is called
_CALLER = "context_search.caller"


def credential_checks(dependant: Dependant) -> list[CredentialCheck]:
    """Returns what a route asks of the credentials of a request, to be asked before its body.

    FastAPI itself parses a body before it solves the dependencies.
    """
    found = [_checks[dependant.call]] if dependant.call in _checks else []
    return found + [each for part in dependant.dependencies for each in credential_checks(part)]


def opened_by(dependant: Dependant) -> frozenset[str]:
    """Returns the scopes, and the secret, of which any one opens a route; empty: it is open."""
    if dependant.call in _credentials:
        return _credentials[dependant.call]
    return frozenset().union(*map(opened_by, dependant.dependencies))


def _caller_of(request: Request) -> Principal:
    """Returns whose bearer key it is; the store is asked once a request."""
    if _CALLER not in request.scope:
        request.scope[_CALLER] = access_of(request).bearers.caller_of(bearer_key(request))
    return cast(Principal, request.scope[_CALLER])


def access_of(request: Request) -> AccessUseCases:
    """Returns what the function tells callers by."""
    return cast(AccessUseCases, request.app.state.use_cases.access)


def part(name: str) -> Any:
    """Returns a dependency: what the function's use cases have under a name, dotted or not."""
    get = attrgetter(name)

    async def find(request: Request) -> object:
        return get(request.app.state.use_cases)

    return Depends(find)


Stored = Annotated[Store, part("parts.store")]
"""What a route reads from: it opens a transaction, and asks a repository or a function over it."""

SilentS = Annotated[float, part("parts.settings.silent_after_s")]
"""Seconds after which an index on which nobody works is stalled."""


# For the OpenAPI document: what they find is read again, by rules of ours.
_ProjectKey = Annotated[object, Depends(HTTPBearer(scheme_name="projectKey", auto_error=False))]
_InternalSecret = Annotated[
    object,
    Depends(APIKeyHeader(name="X-Internal-Secret", scheme_name="internalSecret", auto_error=False)),
]


def _with_any_of(
    *permissions: Permission,
) -> Callable[[Request, _ProjectKey], Awaitable[Principal]]:
    async def check(request: Request) -> Principal:
        with counting_refusals(request, "bearer", bearer_key(request)):
            caller = _caller_of(request)
            if isinstance(caller, McpKey):
                raise PermissionDeniedError(
                    "an MCP key opens MCP only; this route wants a project key"
                )
            if caller.permissions.isdisjoint(permissions):
                raise PermissionDeniedError(f"the key has not the scope {' or '.join(permissions)}")
            return caller

    async def principal(request: Request, _: _ProjectKey) -> Principal:
        return await check(request)

    _checks[principal], _credentials[principal] = check, frozenset(permissions)
    return principal


async def _check_secret(request: Request) -> None:
    shown = request.headers.get("x-internal-secret")
    with counting_refusals(request, INTERNAL_SECRET, shown):
        access_of(request).internal_secrets.check(shown)


async def _internal(request: Request, _: _InternalSecret) -> None:
    await _check_secret(request)


_checks[_internal], _credentials[_internal] = _check_secret, frozenset({INTERNAL_SECRET})


_manager = _with_any_of("manage")
MayManage = Annotated[Principal, Depends(_manager)]
"""The project of a bearer key that may manage it.

401 without a good key; 403 without the scope, and for the key of an MCP instance.
"""

MaySearch = Annotated[Principal, Depends(_with_any_of("search"))]
"""The project of a bearer key that may search it. Refuses like ``MayManage``."""

MayReplace = Annotated[Principal, Depends(_with_any_of("replace"))]
"""The project of a bearer key that may search and replace in it. Refuses like ``MayManage``."""

MayRead = Annotated[Principal, Depends(_with_any_of("search", "manage"))]
"""The project of a bearer key that may search or manage it. Refuses like ``MayManage``."""

AnyScope = Annotated[Principal, Depends(_with_any_of("search", "manage", "replace"))]
"""The project of a bearer key that may do anything at all in it. Refuses like ``MayManage``."""

InternalOnly = Depends(_internal)
"""For routes of trusted callers: 401 without the right ``X-Internal-Secret``."""


def own_project(caller: Principal, project_id: int) -> None:
    """Raises NotFoundError when a path or a body names another project than the caller's."""
    if project_id != caller.project_id:
        raise NotFoundError("there is no such project")


async def _owner(project_id: ProjectId, caller: MayManage) -> Principal:
    own_project(caller, project_id)
    return caller


def _is_operator(request: Request) -> bool:
    return bearer_key(request) is None and "x-internal-secret" in request.headers


async def _check_either(request: Request) -> None:
    await (_check_secret if _is_operator(request) else _checks[_manager])(request)


async def _owner_or_operator(
    request: Request, project_id: ProjectId, key: _ProjectKey, secret: _InternalSecret
) -> Principal:
    if _is_operator(request):
        await _internal(request, secret)
        return Operator(project_id)
    return await _owner(project_id, await _manager(request, key))


_checks[_owner_or_operator] = _check_either
_credentials[_owner_or_operator] = frozenset({"manage", INTERNAL_SECRET})


async def _replace_owner(project_id: ProjectId, caller: MayReplace) -> Principal:
    own_project(caller, project_id)
    return caller


async def _search_owner(project_id: ProjectId, caller: MaySearch) -> Principal:
    own_project(caller, project_id)
    return caller


async def _read_owner(project_id: ProjectId, caller: MayRead) -> Principal:
    own_project(caller, project_id)
    return caller


Owner = Annotated[Principal, Depends(_owner)]
"""The caller whose project the path names, and who may manage it; 404 for another project."""

OwnerOrOperator = Annotated[Principal, Depends(_owner_or_operator)]
"""Like ``Owner``. Without a bearer key the internal secret is asked for; it opens any project."""

SearchOwner = Annotated[Principal, Depends(_search_owner)]
"""The caller whose project the path names, and who may search it; 404 for another project."""

ReplaceOwner = Annotated[Principal, Depends(_replace_owner)]
"""The caller whose project the path names, and who may replace in it; 404 for another project."""

ReadOwner = Annotated[Principal, Depends(_read_owner)]
"""The caller whose project the path names, and who may search or manage it; 404 for another."""
