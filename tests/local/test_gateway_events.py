"""HTTP requests as payload 2.0 events, and return values as responses."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from local.http_events import (
    HttpRequest,
    MalformedResponseError,
    request_event,
    response_of,
)
from local.invocation import LambdaContext
from local.routes import RouteMatch
from tests.local.tiny import tiny_function

MATCH = RouteMatch(tiny_function(lambda *_: None), "POST /tools/{tool_id}", {"tool_id": "7"})


def _event(
    *headers: tuple[str, str], path: str = "/tools/7", query: str = "", body: bytes = b""
) -> dict[str, Any]:
    request = HttpRequest("POST", path, query, headers, body, "10.0.0.9", "HTTP/1.1")
    return request_event(request, MATCH)


def test_the_event_has_the_shape_of_payload_2_0() -> None:
    event = _event(
        ("host", "api.example:8787"),
        ("user-agent", "curl/8"),
        ("content-type", "application/json"),
        path="/tools/ä b",
        query="pointer=%2Fa%2Fb&x=1&x=2",
        body=b'{"query":"\xe4\xbd\xa0\xe5\xa5\xbd"}',
    )
    context = event.pop("requestContext")
    trace = event["headers"].pop("x-amzn-trace-id")
    assert event == {
        "version": "2.0",
        "routeKey": "POST /tools/{tool_id}",
        "rawPath": "/tools/ä b",
        "rawQueryString": "pointer=%2Fa%2Fb&x=1&x=2",
        "headers": {
            "host": "api.example:8787",
            "user-agent": "curl/8",
            "content-type": "application/json",
            "x-forwarded-for": "10.0.0.9",
            "x-forwarded-proto": "http",
        },
        "queryStringParameters": {"pointer": "/a/b", "x": "1,2"},
        "pathParameters": {"tool_id": "7"},
        "body": '{"query":"你好"}',
        "isBase64Encoded": False,
    }
    assert trace.startswith("Root=1-")
    assert context["http"] == {
        "method": "POST",
        "path": "/tools/ä b",
        "protocol": "HTTP/1.1",
        "sourceIp": "10.0.0.9",
        "userAgent": "curl/8",
    }
    assert (context["stage"], context["routeKey"]) == ("$default", "POST /tools/{tool_id}")
    assert context["requestId"]
    assert context["timeEpoch"] > 1_700_000_000_000


def test_absent_parts_are_left_out_and_not_null() -> None:
    assert not {"body", "cookies", "queryStringParameters"} & _event().keys()


def test_repeated_headers_are_joined_and_connection_headers_dropped() -> None:
    event = _event(("accept", "a/b"), ("accept", "c/d"), ("connection", "keep-alive"))
    assert event["headers"]["accept"] == "a/b,c/d"
    assert "connection" not in event["headers"]


def test_a_query_parameter_may_have_a_connection_headers_name() -> None:
    assert _event(query="te=1&te=")["queryStringParameters"] == {"te": "1,"}


def test_cookies_have_a_place_of_their_own() -> None:
    event = _event(("cookie", "a=1; b=2"))
    assert event["cookies"] == ["a=1", "b=2"]
    assert "cookie" not in event["headers"]


@pytest.mark.parametrize(
    "content_type", ["text/csv", "application/json; charset=utf-8", "Application/XML"]
)
def test_text_types_arrive_as_text(content_type: str) -> None:
    event = _event(("content-type", content_type), body=b"abc")
    assert (event["body"], event["isBase64Encoded"]) == ("abc", False)


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/octet-stream", b"\x00\x01"),
        ("application/x-www-form-urlencoded", b"a=1"),
        ("", b"abc"),
        ("text/plain", b"\xff\xfe"),
    ],
)
def test_everything_else_arrives_in_base64(content_type: str, body: bytes) -> None:
    event = _event(("content-type", content_type), body=body)
    assert event["isBase64Encoded"] is True
    assert base64.b64decode(event["body"]) == body


def test_a_response_keeps_status_headers_and_body() -> None:
    headers = {"Content-Type": "application/json", "X-Count": "3"}
    response = response_of({"statusCode": 201, "headers": headers, "body": '{"名":1}'})
    assert response.status == 201
    assert response.body == '{"名":1}'.encode()
    assert sorted(response.headers) == [(b"content-type", b"application/json"), (b"x-count", b"3")]


def test_a_base64_body_is_sent_decoded() -> None:
    answer = {"statusCode": 200, "headers": {}, "body": "AP8=", "isBase64Encoded": True}
    response = response_of(answer)
    assert response.body == b"\x00\xff"
    assert (b"content-type", b"text/plain;charset=UTF-8") in response.headers


def test_the_gateway_counts_the_body_itself() -> None:
    headers = {"Content-Length": "99", "Transfer-Encoding": "chunked"}
    response = response_of({"statusCode": 204, "headers": headers})
    assert {name for name, _ in response.headers} == {b"content-type"}
    assert response.body == b""


@pytest.mark.parametrize(
    "result",
    [
        {"statusCode": "many", "headers": {}},
        {"statusCode": None, "headers": {}},
        {"statusCode": 200, "headers": ["a"]},
        {"statusCode": 200, "headers": {"x": "a\r\nb: c"}},
        {"statusCode": 200, "headers": {"x": "名"}},
        {"statusCode": 200, "headers": {}, "body": "not base64!", "isBase64Encoded": True},
        {"headers": {}},
        {"statusCode": 200, "headers": {"x": 1}},
        "text",
        None,
    ],
)
def test_what_api_gateway_cannot_send_is_malformed(result: Any) -> None:
    with pytest.raises(MalformedResponseError):
        response_of(result)


def test_the_context_counts_down_from_the_functions_timeout() -> None:
    context = LambdaContext("Search", 1769, timeout_s=29)
    remaining = context.get_remaining_time_in_millis()
    assert 20_000 < remaining <= 29_000
    assert LambdaContext("Search", 1769, timeout_s=0).get_remaining_time_in_millis() == 0
    assert context.memory_limit_in_mb == "1769"
    assert context.function_name == "Search"
    assert context.invoked_function_arn.endswith(":function:Search")
    assert len(context.aws_request_id) == 36
