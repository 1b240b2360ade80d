"""The MCP endpoint: one HTTP request in, one HTTP answer out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from context_search.mcp.contract import (
    McpRequest,
    McpResponse,
    ServerIdentity,
    Toolbox,
    ToolFailure,
)
from context_search.mcp.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Call,
    Reply,
    RpcError,
    parse_json,
    parse_message,
    readable_id,
)
from context_search.mcp.revisions import (
    MODERN,
    VERSION_HEADER,
    answer_legacy,
    answer_modern,
    check_version_header,
    header,
    is_modern,
)
from context_search.mcp.tools import CallContext, failure_report
from context_search.mcp.transport import (
    RefusedError,
    admit,
    challenge,
    error_response,
    refused,
    require_json,
    shared_with_page,
)


def handle(
    request: McpRequest,
    *,
    authenticate: Callable[[], Toolbox],
    server: ServerIdentity,
    on_error: Callable[[Exception], None],
    allowed_origins: Collection[str] = (),
    allowed_hosts: Collection[str] | None = None,
    resource_metadata: str | None = None,
) -> McpResponse:
    """Answer one request to the MCP endpoint; never raises (unless ``on_error`` does).

    The checks run in this order: method (405), Host (421), Origin (403), credentials (401),
    body size (413), Content-Type (415), Accept (406), JSON, JSON-RPC, then the revision's rules.
    ``authenticate`` is called once the request may connect at all; it returns the caller's tools
    or raises ToolFailure, which is answered 401, 403 or 404 as it says, and 503 otherwise.
    ``on_error`` gets every unexpected exception and every failure with status 500, of which the
    client sees "internal error". It also gets what makes a 503 of the authentication.
    Origins and hosts: see ``transport.admit``. ``resource_metadata`` is the address that tells
    clients where to get a token (RFC 9728, 5.1); None where there are none to be had.
    """
    try:
        admit(request, allowed_origins=allowed_origins, allowed_hosts=allowed_hosts)
        toolbox = _authenticated(request, authenticate, on_error, resource_metadata)
        require_json(request)
        payload = parse_json(request.body)
        response = _answer(payload, request.headers, CallContext(toolbox, server, on_error))
    except RefusedError as refusal:
        response = refusal.response
    except RpcError as error:
        response = error_response(400, None, error)
    except Exception as error:  # noqa: BLE001 - the border: a client always gets an answer
        on_error(error)
        response = error_response(500, None, RpcError(INTERNAL_ERROR, "internal error"))
    return shared_with_page(request, response, allowed_origins)


def _authenticated(
    request: McpRequest,
    authenticate: Callable[[], Toolbox],
    on_error: Callable[[Exception], None],
    resource_metadata: str | None,
) -> Toolbox:
    try:
        return authenticate()
    except ToolFailure as failure:
        if failure.status > 500:  # noted here: no tool is called that would note it
            on_error(failure.reason)
        if failure.status != 500:
            raise _not_admitted(request, failure, resource_metadata) from failure
        reason = failure.reason
    # A fault of the owner's, and no reason to try again. Raised out here: it caused the failure,
    # which would become its own context.
    raise reason


def _not_admitted(
    request: McpRequest, failure: ToolFailure, resource_metadata: str | None
) -> RefusedError:
    report = failure_report(failure)
    match failure.status:
        case 401:
            # RFC 6750, 3: the error code only where credentials were sent at all.
            reason = "invalid_token" if "authorization" in request.headers else None
            rpc_error = RpcError(INVALID_REQUEST, failure.message, report)
            return refused(401, rpc_error, challenge(reason, resource_metadata))
        case 403:
            rpc_error = RpcError(INVALID_REQUEST, failure.message, report)
            # Without an issuer there is no way to more scopes that a client could go by itself.
            is_open = resource_metadata is not None
            more = challenge("insufficient_scope", resource_metadata) if is_open else None
            return refused(403, rpc_error, more)
        case 404:
            return refused(404, RpcError(INVALID_REQUEST, failure.message, report))
        case _:
            retry_after = math.ceil(failure.retry_after_s or 1)
            rpc_error = RpcError(INTERNAL_ERROR, failure.message, report)
            return refused(503, rpc_error, {"retry-after": str(retry_after)})


def _answer(payload: object, headers: Mapping[str, str], context: CallContext) -> McpResponse:
    try:
        message = parse_message(payload)
        if isinstance(message, Call):
            if is_modern(message, headers):
                return answer_modern(message, headers, context)
            return answer_legacy(message, context)
        check_version_header(headers)
        if isinstance(message, Reply) and header(headers, VERSION_HEADER) in MODERN:
            raise RpcError(INVALID_REQUEST, "this revision has no client responses")
    except RpcError as error:
        return error_response(400, readable_id(payload), error)
    return McpResponse(202)
