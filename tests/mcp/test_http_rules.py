"""What is refused before a message is looked at, and in which order."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

from context_search.core.errors import (
    ContextSearchError,
    DatabaseUnavailableError,
    NotFoundError,
    PermissionDeniedError,
    TokenIssuerUnavailableError,
    UnauthenticatedError,
)
from tests.mcp.memory import ask, call, modern, request

PING = call("ping")


def refusing(error: Exception) -> dict[str, Any]:
    def authenticate() -> NoReturn:
        raise error

    return {"authenticate": authenticate}


@pytest.mark.parametrize(
    ("origin", "allowed", "status"),
    [
        (None, (), 200),
        ("https://evil.example", (), 403),
        ("https://app.example", ("https://app.example",), 200),
        ("HTTPS://App.Example", ("https://app.example",), 200),
        ("http://app.example", ("https://app.example",), 403),
        ("https://app.example.evil.example", ("https://app.example",), 403),
        ("https://app.example:8443", ("https://app.example",), 403),
        ("http://localhost:6274", ("http://localhost:*",), 200),
        ("http://localhost.evil.example:80", ("http://localhost:*",), 403),
        ("http://localhost:80:evil", ("http://localhost:*",), 403),
        ("null", ("https://app.example",), 403),
        ("", ("https://app.example",), 403),
    ],
)
def test_a_present_origin_must_be_listed(
    origin: str | None, allowed: tuple[str, ...], status: int
) -> None:
    assert ask(request(PING, origin=origin), allowed_origins=allowed).status == status


LOCAL = ("127.0.0.1:*", "localhost:*", "[::1]:*")


@pytest.mark.parametrize(
    ("origin", "host", "hosts", "status"),
    [
        ("http://127.0.0.1:8787", "127.0.0.1:8787", LOCAL, 200),
        ("http://LocalHost:8787", "localhost:8787", LOCAL, 200),
        ("http://[::1]:8787", "[::1]:8787", LOCAL, 200),
        ("https://localhost", "localhost", LOCAL, 200),
        ("http://127.0.0.1:18911", "127.0.0.1:8787", LOCAL, 403),
        ("http://localhost:8787", "127.0.0.1:8787", LOCAL, 403),
        ("http://rebound.example:8787", "rebound.example:8787", LOCAL, 421),
        ("ftp://localhost:8787", "localhost:8787", LOCAL, 403),
        ("localhost:8787", "localhost:8787", LOCAL, 403),
        ("null", "localhost", LOCAL, 403),
        ("https://api.example", "api.example", None, 200),
        ("http://api.example", "api.example", None, 403),
        ("https://api.example", "other.example", None, 403),
        ("https://", "", None, 403),
    ],
)
def test_a_page_of_the_server_itself_may_call(
    origin: str, host: str, hosts: tuple[str, ...] | None, status: int
) -> None:
    sent = request(PING, origin=origin, host=host)
    answered = ask(sent, allowed_hosts=hosts)
    assert answered.status == status
    assert "access-control-allow-origin" not in answered.response.headers  # it needs none


PAGE = "https://app.example"
PREFLIGHT = {"access_control_request_method": "POST", "origin": PAGE}


@pytest.mark.parametrize("body", [PING, {}])
@pytest.mark.parametrize("refused", [{}, {"error": UnauthenticatedError()}])
def test_a_page_of_an_allowed_origin_may_read_every_answer(
    body: object, refused: dict[str, Exception]
) -> None:
    options = refusing(refused["error"]) if refused else {}
    headers = ask(request(body, origin=PAGE), allowed_origins=(PAGE,), **options).response.headers
    assert headers["access-control-allow-origin"] == PAGE
    assert headers["vary"] == "origin"
    assert "x-request-id" in headers["access-control-expose-headers"]


def test_other_callers_hear_nothing_of_pages() -> None:
    for sent in (request(PING), request(PING, origin="https://evil.example")):
        headers = ask(sent, allowed_origins=(PAGE,)).response.headers
        assert not [name for name in headers if name.startswith("access-control")]


def test_a_browser_that_asks_first_is_told_what_a_page_may_send() -> None:
    sent = request(b"", method="OPTIONS", **PREFLIGHT)
    answered = ask(sent, allowed_origins=(PAGE,), **refusing(UnauthenticatedError()))
    assert (answered.status, answered.response.body) == (204, None)
    headers = answered.response.headers
    assert headers["access-control-allow-origin"] == PAGE
    assert headers["access-control-allow-methods"] == "POST"
    allowed = set(headers["access-control-allow-headers"].split(", "))
    assert {"authorization", "content-type", "mcp-protocol-version", "mcp-method"} < allowed
    assert ask(sent).status == 403
    assert ask(sent, allowed_origins=(PAGE,), allowed_hosts=("localhost",)).status == 421


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("localhost", 200),
        ("evil.example", 421),
        (None, 421),
    ],
)
def test_the_host_is_judged_where_hosts_are_listed(host: str | None, status: int) -> None:
    assert ask(request(PING, host=host), allowed_hosts=LOCAL).status == status
    assert ask(request(PING, host=host)).status == 200


def test_a_missing_key_is_401_and_a_wrong_one_is_told_apart_in_the_challenge() -> None:
    answered = ask(request(PING), **refusing(UnauthenticatedError("no such key")))
    assert (answered.status, answered.json["id"], answered.surprises) == (401, None, [])
    assert answered.response.headers["www-authenticate"] == 'Bearer realm="mcp"'
    assert answered.error["message"] == "no such key"
    assert answered.error["data"]["code"] == "UNAUTHENTICATED"
    wrong = challenge_of(UnauthenticatedError(), None, authorization="Bearer nonsense")
    assert wrong == 'Bearer realm="mcp", error="invalid_token"'


def challenge_of(error: Exception, metadata: str | None, **headers: str) -> str | None:
    options = {**refusing(error), "resource_metadata": metadata}
    return ask(request(PING, **headers), **options).response.headers.get("www-authenticate")


def test_where_tokens_are_taken_the_challenge_says_where_they_come_from() -> None:
    address = "https://search.example/.well-known/oauth-protected-resource/mcp"
    more = f'scope="search", resource_metadata="{address}"'
    denied, unknown = PermissionDeniedError(), UnauthenticatedError()
    assert challenge_of(unknown, address) == f'Bearer realm="mcp", {more}'
    sent = {"authorization": "Bearer a.b.c"}
    refusal = challenge_of(unknown, address, **sent)
    assert refusal == f'Bearer realm="mcp", error="invalid_token", {more}'
    refusal = challenge_of(denied, address, **sent)
    assert refusal == f'Bearer realm="mcp", error="insufficient_scope", {more}'
    assert challenge_of(denied, None, **sent) is None
    assert challenge_of(NotFoundError(), address) is None


@pytest.mark.parametrize(
    ("error", "status", "code", "reported"),
    [
        (PermissionDeniedError(), 403, -32600, []),
        (NotFoundError(), 404, -32600, []),
        (DatabaseUnavailableError(), 503, -32603, [DatabaseUnavailableError]),
        (TokenIssuerUnavailableError(), 503, -32603, [TokenIssuerUnavailableError]),
    ],
)
def test_authentication_may_fail_in_other_ways_and_what_keeps_everybody_out_is_reported(
    error: ContextSearchError, status: int, code: int, reported: list[type[Exception]]
) -> None:
    answered = ask(modern("tools/list"), **refusing(error))
    assert (answered.status, answered.error["code"]) == (status, code)
    assert answered.error["data"]["code"] == error.code
    assert [type(error) for error in answered.surprises] == reported


def test_an_unreachable_database_says_when_to_come_back() -> None:
    answered = ask(request(PING), **refusing(DatabaseUnavailableError(retry_after_s=2.5)))
    assert answered.response.headers["retry-after"] == "3"
    assert answered.error["data"]["retryAfterMs"] == 2500


@pytest.mark.parametrize("kind", [ZeroDivisionError, ContextSearchError])
def test_an_unplanned_exception_is_reported_and_not_shown(kind: type[Exception]) -> None:
    answered = ask(request(PING), **refusing(kind("password=hunter2")))
    assert answered.status == 500
    assert b"hunter2" not in (answered.response.body or b"")
    assert [type(error) for error in answered.surprises] == [kind]


def test_one_megabyte_is_the_limit() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert ask(request(body.ljust(1_000_000))).status == 200
    assert ask(request(body.ljust(1_000_001))).status == 413


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/json, text/plain", 415),
        ("application/jsonp", 415),
        (None, 415),
    ],
)
def test_the_body_must_be_declared_as_json(content_type: str | None, status: int) -> None:
    assert ask(request(PING, content_type=content_type)).status == status


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json, text/event-stream", 200),
        ("text/html, application/*;q=0.5", 200),
        ("*/*", 200),
        (None, 200),
        ("text/event-stream", 406),
        ("application/json;q=0, text/event-stream", 406),
        ("application/json; q=0.000", 406),
        ("application/json;q=0, */*;q=0.1", 200),
        ("application/json;q=0.001", 200),
        ("", 406),
    ],
)
def test_the_client_must_accept_json(accept: str | None, status: int) -> None:
    assert ask(request(PING, accept=accept)).status == status


def test_the_checks_run_from_the_connection_inwards() -> None:
    refused = refusing(UnauthenticatedError())
    wrong: dict[str, Any] = {
        "origin": "https://evil.example",
        "host": "other.example",
        "content_type": "text/plain",
    }
    big = b"x" * 1_000_001

    def status(**options: Any) -> int:
        return ask(request(big, **headers), **(refused | options)).status

    headers = dict(wrong)
    assert status(allowed_hosts=("localhost",)) == 421
    assert status() == 403
    del headers["origin"]
    assert status() == 401
    accepted = ask(request(big, **headers))
    assert accepted.status == 413
    assert ask(request(b"x", **headers)).status == 415


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe{}",
        b'{"a":NaN}',
        b"[Infinity]",
        b"[" * 100_000,
        '"\ufeff"'.encode()[1:],
    ],
)
def test_what_is_not_json_is_a_parse_error(body: bytes) -> None:
    answered = ask(request(body))
    assert (answered.status, answered.error["code"]) == (400, -32700)
    assert answered.json["id"] is None


@pytest.mark.parametrize(
    ("message", "request_id"),
    [
        ("text", None),
        (7, None),
        (None, None),
        ({}, None),
        ({"id": 1, "method": "ping"}, 1),
        ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, "a"),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, 1),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "method": "notifications/initialized", "params": 1}, None),
    ],
)
def test_what_is_not_a_message_is_an_invalid_request(message: object, request_id: object) -> None:
    answered = ask(request(message))
    assert (answered.status, answered.error["code"]) == (400, -32600)
    assert answered.json["id"] == request_id
