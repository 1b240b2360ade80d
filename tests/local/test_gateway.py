"""The gateway on real sockets, with handlers of a few lines behind it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from local.gateway import CALLER_THREADS, HELD_BACK_S, MAX_HEAD_BYTES, Gateway
from local.http_events import MAX_BODY_BYTES, MAX_EVENT_BYTES
from local.processes import listen
from local.template import RouteSpec
from tests.local.tiny import tiny_function

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local.invocation import Handler

Reply = tuple[int, http.client.HTTPMessage, bytes]


class _Site:
    def __init__(self, port: int) -> None:
        self.port = port

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()


@contextmanager
def _serving(handler: Handler, timeout_s: float = 30) -> Iterator[_Site]:
    function = tiny_function(
        lambda event, context: _response(handler(event, context)),
        routes=(RouteSpec("ANY", "/f"), RouteSpec("GET", "/f/{name}")),
        timeout_s=7,
    )
    listener = listen(0)
    port = listener.getsockname()[1]
    with Gateway([function], listener, timeout_s=timeout_s):
        yield _Site(port)


def _response(result: Any) -> dict[str, Any]:
    """A whole response as it is, any other value as the body of a 200."""
    if isinstance(result, dict) and "statusCode" in result:
        return result
    text = result if isinstance(result, str) else json.dumps(result)
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": text}


def _echo(event: dict[str, Any], _: Any) -> dict[str, Any]:
    return event


@pytest.mark.parametrize(
    "host", ["rebound.example", "rebound.example:8787", "localhost.example", ""]
)
def test_another_name_than_this_machines_reaches_no_handler(host: str) -> None:
    with _serving(_echo) as site:
        status, _, body = site.call("GET", "/f/a", Host=host)
        assert (status, json.loads(body)) == (421, {"message": "Misdirected Request"})
        assert site.call("GET", "/f/a", Host="localhost")[0] == 200


def test_who_asks_for_too_much_hears_of_it_a_second_later() -> None:
    def refuse(event: dict[str, Any], _: Any) -> dict[str, Any]:
        code = event["rawPath"].removeprefix("/f/")
        return {"statusCode": 429, "body": json.dumps({"code": code})}

    with _serving(refuse) as site:
        began = time.monotonic()
        assert site.call("GET", "/f/MANAGEMENT_BACKPRESSURE")[0] == 429
        assert time.monotonic() - began >= HELD_BACK_S


def test_a_request_reaches_the_handler_of_its_route() -> None:
    with _serving(_echo) as site:
        status, headers, body = site.call(
            "GET", "/f/%E4%BD%A0%20b?pointer=%2Fa", **{"X-Thing": "1", "user-agent": "t"}
        )
    event = json.loads(body)
    assert status == 200
    assert headers["apigw-requestid"]
    assert event["routeKey"] == "GET /f/{name}"
    assert event["rawPath"] == "/f/你 b"
    assert event["rawQueryString"] == "pointer=%2Fa"
    assert event["pathParameters"] == {"name": "你 b"}
    assert event["headers"]["x-thing"] == "1"
    assert event["requestContext"]["http"]["sourceIp"] == "127.0.0.1"


def test_a_body_sent_in_pieces_arrives_whole() -> None:
    pieces = [b'{"a": "' + b"x" * 70_000, b"y" * 70_000 + b'"}']
    with _serving(_echo) as site:
        _, _, body = site.call("POST", "/f", iter(pieces), **{"content-type": "application/json"})
    assert json.loads(body)["body"] == b"".join(pieces).decode()


def test_the_handlers_response_comes_back() -> None:
    answer = {
        "statusCode": 418,
        "headers": {"content-type": "application/problem+json"},
        "body": "{}",
    }
    with _serving(lambda *_: answer) as site:
        status, headers, body = site.call("PUT", "/f")
    assert (status, body) == (418, b"{}")
    assert headers["content-type"] == "application/problem+json"


def test_an_unknown_route_is_api_gateways_404() -> None:
    with _serving(_echo) as site:
        status, headers, body = site.call("GET", "/nothing")
    assert (status, body) == (404, b'{"message":"Not Found"}')
    assert headers["content-type"] == "application/json"


def test_a_body_that_lambda_would_not_take_is_413() -> None:
    fits = MAX_EVENT_BYTES - 2  # it travels in quotes
    with _serving(lambda event, _: str(len(event["body"]))) as site:
        kind = {"content-type": "text/plain"}
        at_limit = site.call("POST", "/f", b"x" * fits, **kind)
        over = site.call("POST", "/f", b"x" * (fits + 1), **kind)
        quotes = site.call("POST", "/f", b'"' * (fits // 2 + 1), **kind)
        huge = site.call("POST", "/f", b"x" * (MAX_BODY_BYTES + 1), **kind)
    assert (at_limit[0], at_limit[2]) == (200, str(fits).encode())
    for refused in (over, quotes, huge):
        assert (refused[0], refused[2]) == (413, b'{"message":"Request Entity Too Large"}')


def _raises(*_: Any) -> Any:
    raise RuntimeError("as a bug would")


@pytest.mark.parametrize("kind", ["path", "query", "header"])
def test_a_head_that_api_gateway_would_not_take_is_431(kind: str) -> None:
    def call(site: _Site, length: int) -> int:
        path = {"path": f"/f/{'x' * length}", "query": f"/f/a?{'x' * length}"}.get(kind, "/f/a")
        headers = {"x-long": "x" * length} if kind == "header" else {}
        return site.call("GET", path, None, **headers)[0]

    with _serving(lambda *_: "ok") as site:
        assert call(site, MAX_HEAD_BYTES - 200) == 200
        assert call(site, MAX_HEAD_BYTES) == 431


@pytest.mark.parametrize("handler", [_raises, lambda *_: {"statusCode": "many"}])
def test_a_failed_invocation_is_api_gateways_500(handler: Handler) -> None:
    with _serving(handler) as site:
        status, _, body = site.call("GET", "/f")
    assert (status, body) == (500, b'{"message":"Internal Server Error"}')


def test_a_handler_that_takes_too_long_is_503_and_does_not_block_others() -> None:
    release = threading.Event()

    def handler(event: dict[str, Any], _: Any) -> str:
        if event["rawPath"] == "/f":
            release.wait(10)
        return "late"

    with _serving(handler, timeout_s=0.2) as site:
        status, _, body = site.call("GET", "/f")
        other, _, _ = site.call("GET", "/f/quick")
        release.set()
    assert (status, body) == (503, b'{"message":"Service Unavailable"}')
    assert other == 200


def test_handlers_run_side_by_side() -> None:
    together = threading.Barrier(40, timeout=15)
    statuses: list[int] = []

    def handler(*_: Any) -> str:
        together.wait()  # breaks unless forty invocations are in it at once
        return "ok"

    with _serving(handler) as site:
        clients = [
            threading.Thread(target=lambda: statuses.append(site.call("GET", "/f")[0]))
            for _ in range(40)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    assert statuses == [200] * 40


def test_a_crowd_of_one_caller_does_not_keep_another_waiting() -> None:
    entered, release = threading.Semaphore(0), threading.Event()
    statuses: list[int] = []

    def handler(event: dict[str, Any], _: Any) -> str:
        if event["headers"]["authorization"] == "Bearer crowd":
            entered.release()
            release.wait(30)
        return "ok"

    with _serving(handler) as site:

        def come() -> None:
            statuses.append(site.call("GET", "/f", authorization="Bearer crowd")[0])

        crowd = [threading.Thread(target=come) for _ in range(2 * CALLER_THREADS)]
        for one in crowd:
            one.start()
        for _ in range(CALLER_THREADS):
            assert entered.acquire(timeout=30)
        status, _, body = site.call("GET", "/f", authorization="Bearer single")
        assert (status, body) == (200, b"ok")
        assert statuses == []  # all of the crowd is still there
        release.set()
        for one in crowd:
            one.join()
    assert statuses == [200] * 2 * CALLER_THREADS


def _raw(site: _Site, *lines: str, body: bytes = b"") -> bytes:
    """All that comes back on a connection of its own, which the server has to end."""
    with closing(socket.create_connection(("127.0.0.1", site.port), timeout=20)) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_a_body_with_two_lengths_is_refused_and_nothing_behind_it_is_served() -> None:
    served: list[str] = []

    def handler(event: dict[str, Any], _: Any) -> str:
        served.append(event["rawPath"])
        return "ok"

    smuggled = b"0\r\n\r\nGET /f/smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
    length = f"Content-Length: {len(smuggled)}"
    with _serving(handler) as site:
        for order in (
            [length, "Transfer-Encoding: chunked"],
            ["Transfer-Encoding: chunked", length],
        ):
            reply = _raw(site, "POST /f HTTP/1.1", "Host: h", *order, body=smuggled)
            assert reply.startswith(b"HTTP/1.1 400 ")
            assert reply.count(b"HTTP/1.1") == 1
    assert served == []


def test_an_upgrade_to_websocket_is_let_be_as_by_an_http_api(
    caplog: pytest.LogCaptureFixture,
) -> None:
    upgrade = ["Connection: Upgrade, close", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    with _serving(lambda *_: "ordinary") as site:
        reply = _raw(
            site,
            "GET /f HTTP/1.1",
            "Host: localhost",
            *upgrade,
            "Sec-WebSocket-Key: eA==",
            "Origin: http://a",
        )
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert reply.endswith(b"ordinary")
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_handler_has_an_event_loop_as_mangum_expects_it() -> None:
    async def answer() -> str:
        await asyncio.sleep(0)
        return "from a coroutine"

    def handler(*_: Any) -> str:
        return asyncio.get_event_loop().run_until_complete(answer())

    with _serving(handler) as site:
        replies = [site.call("GET", "/f")[2] for _ in range(3)]
    assert replies == [b"from a coroutine"] * 3


def test_the_context_comes_from_the_template() -> None:
    with _serving(lambda _, context: {"ms": context.get_remaining_time_in_millis()}) as site:
        _, _, body = site.call("GET", "/f")
    assert 1_000 < json.loads(body)["ms"] <= 7_000


def test_connections_do_not_wait_for_delayed_acknowledgements() -> None:
    with closing(listen(0)) as listener:
        # What asyncio asks for before it sets TCP_NODELAY on an accepted connection.
        assert listener.proto == socket.IPPROTO_TCP


def test_a_stopped_gateway_frees_its_port() -> None:
    with _serving(_echo) as site:
        port = site.port
    with closing(listen(port)) as again:
        assert again.getsockname() == ("127.0.0.1", port)
