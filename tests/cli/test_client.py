"""What is asked again, what is not, and how a refusal ends a command."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator

import httpx2
import pytest

from context_search_cli.client import MOST_PAGES, Client, Response
from context_search_cli.config import Endpoint
from context_search_cli.failures import UnreachableError
from tests.cli.running import URL, CommandLine


def problem(status: int, **members: object) -> httpx2.Response:
    return httpx2.Response(
        status, json=members, headers={"content-type": "application/problem+json"}
    )


def test_a_retryable_problem_is_tried_again_as_the_server_says(cli: CommandLine) -> None:
    busy = problem(503, code="DATABASE_UNAVAILABLE", retryable=True, retryAfterMs=1500)
    cli.network.meets("/tables", busy, times=2)
    result = cli.done("tables", "import", cli.file("a.json", {"a": 1}))
    assert cli.pauses == pytest.approx([1.5, 1.5], abs=0.5)
    assert "DATABASE_UNAVAILABLE" in result.err
    keys = [
        each.headers["idempotency-key"] for each in cli.network.requests if each.method == "POST"
    ]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_retry_after_counts_where_a_gateway_answers(cli: CommandLine) -> None:
    refused = httpx2.Response(
        429, json={"message": "Too Many Requests"}, headers={"Retry-After": "7"}
    )
    cli.network.meets("/whoami", refused)
    cli.done("whoami")
    assert cli.pauses == pytest.approx([7.0], abs=0.5)


def test_patience_has_an_end(cli: CommandLine) -> None:
    busy = problem(503, code="DATABASE_UNAVAILABLE", retryable=True)
    cli.network.meets("/whoami", busy, times=99)
    result = cli("whoami", "--json")
    assert (result.code, result.document["error"]["code"]) == (5, "DATABASE_UNAVAILABLE")
    assert result.document["error"]["exit"] == 5
    assert len(cli.network.requests) == 6
    assert sum(cli.pauses) <= 60


def test_a_wait_that_is_too_long_is_not_waited_for(cli: CommandLine) -> None:
    busy = problem(429, code="SEARCH_BACKPRESSURE", retryable=True, retryAfterMs=3_600_000)
    cli.network.meets("/whoami", busy)
    assert cli("whoami").code == 5
    assert cli.pauses == []


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (problem(401, code="UNAUTHENTICATED", detail="no", retryable=False), 6),
        (problem(403, code="PERMISSION_DENIED", detail="no", retryable=False), 6),
        (problem(404, code="NOT_FOUND", detail="no", retryable=False), 3),
        (problem(409, code="CONFLICT", detail="no", retryable=False), 4),
        (problem(412, code="PRECONDITION_FAILED", detail="no", retryable=False), 4),
        (problem(422, code="INVALID_INPUT", detail="no", retryable=False), 1),
        (problem(503, code="EMBEDDING_REJECTED", detail="no", retryable=False), 1),
        (problem(500, code="INTERNAL", detail="no", retryable=False), 1),
        (httpx2.Response(404, json={"message": "Not Found"}), 3),
        (httpx2.Response(418, text="\x1b[31mteapot"), 1),
        (httpx2.Response(302, headers={"Location": "https://elsewhere.test/"}), 5),
        (httpx2.Response(200, text="<html>a proxy's page</html>"), 5),
    ],
)
def test_exit_codes(cli: CommandLine, reply: httpx2.Response, code: int) -> None:
    cli.network.meets("/whoami", reply)
    result = cli("whoami", "--json")
    assert result.code == code
    assert result.document["error"]["exit"] == code
    assert "\x1b" not in result.err
    assert len(cli.network.requests) == 1


def endless() -> Iterator[bytes]:
    while True:
        yield b" " * 1_000_000


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (httpx2.Response(400, json={"errors": ["a gateway's own"]}), 1),
        (httpx2.Response(400, json={"errors": 5}), 1),
        (httpx2.Response(400, json={"error": {"message": "no", "data": 5}}), 1),
        (httpx2.Response(429, json={}, headers=[(b"Retry-After", b"\xb2")]), 0),
        (httpx2.Response(429, json={}, headers={"Retry-After": "9" * 5000}), 0),
        (httpx2.Response(503, content=b'{"retryAfterMs": ' + b"9" * 4000 + b"}"), 5),
        (httpx2.Response(200, text="[" * 200_000), 5),
        (httpx2.Response(400, text="[" * 200_000), 1),
        (httpx2.Response(200, json=[1]), 5),
        (httpx2.Response(200, json=None), 5),
        (httpx2.Response(200, json={}), 5),
        (httpx2.Response(200, text=""), 5),
        (httpx2.Response(200, text="{}", headers={"Content-Type": "text/x; charset=rot13"}), 5),
        (httpx2.Response(200, content=endless()), 5),
        (httpx2.Response(500, content=endless()), 5),
    ],
)
def test_answers_of_something_else_than_the_api_end_a_command_in_order(
    cli: CommandLine, reply: httpx2.Response, code: int
) -> None:
    cli.network.meets("/tables", reply)
    result = cli("tables", "list")
    assert result.code == code
    assert code == 0 or "error: " in result.err


# Of each a member of the answer is shown, or something else has to be known of it.
ASKING = """
whoami
tables show 1
tables restore 1 1
tables delete 1 --yes
tools show 1
tools update 1 --top-k 3
tools rebuild 1 --dry-run
search lantern --tool 1
status 1
status 1 --exit-when-ready
mcp try
keys create --scope search
ops projects create acme
"""


@pytest.mark.parametrize("text", ["", "null", "[]", '"x"', "<html>a proxy's page</html>"])
def test_no_command_takes_something_else_for_an_answer(cli: CommandLine, text: str) -> None:
    cli.environment["CONTEXT_SEARCH_SECRET"] = "secret"
    cli.network.meets("/", httpx2.Response(200, text=text), times=99)
    for line in ASKING.strip().splitlines():
        result = cli(*line.split())
        assert result.code == 5, line
        assert "is this address the API's?" in result.err, line


@pytest.mark.parametrize("line", ["whoami", "tools show 1", "status 1", "ops projects create a"])
def test_a_member_that_is_not_there_is_named(cli: CommandLine, line: str) -> None:
    cli.environment["CONTEXT_SEARCH_SECRET"] = "secret"
    reply = httpx2.Response(200, json={})
    cli.network.meets("/", reply, times=9)
    result = cli(*line.split())
    assert result.code == 5
    assert "the answer has no " in result.err


def test_a_revision_is_read_through_a_proxy_that_compresses() -> None:
    assert (
        Response(200, "{}", etag='W/"7"').revision == Response(200, "{}", etag='"7"').revision == 7
    )
    for etag in (None, '"x"', "7"):
        with pytest.raises(UnreachableError, match="no revision"):
            _ = Response(200, "{}", etag=etag).revision


def test_what_mcp_refuses_is_told_as_every_refusal(cli: CommandLine) -> None:
    result = cli("mcp", "try", "--agent-key", cli.file("wrong", "cs_wrong"), "--json")
    assert (result.code, result.document["error"]["code"]) == (6, "UNAUTHENTICATED")
    assert "the key is not known" in result.err


def test_a_broken_connection_makes_nothing_twice(cli: CommandLine) -> None:
    cli.network.lose_next_reply = "/api/v1/tables"
    table = cli.json("tables", "import", cli.file("a.json", {"a": 1}))
    assert len([path for path in cli.paths("POST") if path == "/api/v1/tables"]) == 2
    assert cli("tables", "show", table["id"] + 1).code == 3


def test_where_nobody_listens_is_told(cli: CommandLine) -> None:
    cli.network.meets("/", httpx2.ConnectError("refused"))
    result = cli("tools", "list", "--json")
    assert (result.code, result.document["error"]["code"]) == (5, "UNREACHABLE")


def test_ctrl_c_ends_a_command(cli: CommandLine) -> None:
    cli.network.meets("/", KeyboardInterrupt())
    result = cli("whoami", "--json")
    assert (result.code, result.document["error"]["code"]) == (130, "INTERRUPTED")


def test_a_body_that_is_refused_is_explained_field_by_field(cli: CommandLine) -> None:
    table = cli.table({"a": 1})
    result = cli("tools", "create", table, "--config", json.dumps({"chunk_sise": 5}))
    assert result.code == 1
    assert "chunk_sise" in result.err
    assert "request " in result.err


def client_of(
    handle: Callable[[httpx2.Request], httpx2.Response], sleep: Callable[[float], None] = time.sleep
) -> Client:
    return Client(Endpoint(URL, "a test"), transport=httpx2.MockTransport(handle), sleep=sleep)


@pytest.mark.parametrize("cursors", [["a", "a"], ["a", "b", "a"], [5], [["a"]]])
def test_a_list_whose_pages_go_in_circles_ends(cli: CommandLine, cursors: list[object]) -> None:
    for cursor in cursors:
        page = httpx2.Response(200, json={"tables": [], "cursor": cursor})
        cli.network.meets("/tables", page)
    result = cli("tables", "list", "--limit", 0, "--json")
    assert (result.code, result.document["error"]["code"]) == (5, "UNREACHABLE")
    assert len(cli.network.requests) == len(cursors)


@pytest.mark.slow
def test_a_list_of_which_every_page_names_another_ends() -> None:
    names = itertools.count()

    def next_page(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"rows": [], "cursor": str(next(names))})

    with pytest.raises(UnreachableError, match="10,000 pages"):
        client_of(next_page).pages("/api/v1/rows", "rows", limit=0)
    assert next(names) == MOST_PAGES


def test_rows_that_are_no_list_end_a_command_in_order(cli: CommandLine) -> None:
    cli.network.meets("/tables", httpx2.Response(200, json={"tables": 5, "cursor": None}))
    assert cli("tables", "list").code == 5


def test_a_string_that_does_not_go_on_ends(cli: CommandLine) -> None:
    window = {"text": "", "hash": "h", "end": 0, "total": 5}
    stuck = httpx2.Response(200, json=window)
    cli.network.meets("/text", stuck, times=9)
    assert cli("tables", "get", 1, "/a", "--text").code == 5
    assert len(cli.network.requests) == 1


def test_who_is_told_to_wait_stops_what_others_would_send() -> None:
    """Without it three threads would go on asking a server that has said stop."""
    rests, goes_on = threading.Event(), threading.Event()
    asked: list[str] = []

    def once_busy(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        is_first = asked == ["/first"]
        return problem(429, retryAfterMs=1000) if is_first else httpx2.Response(200, json={})

    def sleep(seconds: float) -> None:
        asked.append("rest")
        rests.set()
        assert goes_on.wait(10)
        asked.append("up again")

    client = client_of(once_busy, sleep)
    one = threading.Thread(target=client.get, args=["/first"])
    other = threading.Thread(target=client.get, args=["/second"])
    one.start()
    assert rests.wait(10)
    other.start()
    goes_on.set()
    one.join(10)
    other.join(10)
    assert asked[:3] == ["/first", "rest", "up again"]
    assert sorted(asked[3:]) == ["/first", "/second"]
