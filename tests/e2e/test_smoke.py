"""The smoke test of a deployment, on the local stack: what it finds, and what it leaves."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from scripts.smoke import SmokeError, main, smoke
from tests.builders import until
from tests.e2e.running import INDEXED_WITHIN_S, Running

pytestmark = pytest.mark.stack


@pytest.fixture
def without_mcp(stack: Running) -> Iterator[str]:
    """The stack as it would be with a broken route: every call of MCP fails."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

        def forward(self) -> None:
            content = self.rfile.read(int(self.headers.get("content-length", "0")))
            headers = {
                name: value
                for name, value in self.headers.items()
                if name.lower() not in {"host", "connection", "content-length"}
            }
            if self.path == "/mcp":
                reply = httpx2.Response(500, json={"code": "INTERNAL"})
            else:
                url = stack.base_url + self.path
                with httpx2.Client(trust_env=False, timeout=60) as http:
                    reply = http.request(self.command, url, content=content, headers=headers)
            self.send_response(reply.status_code)
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content)

        do_GET = do_POST = do_DELETE = forward  # noqa: N815 - http.server's names

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def left_behind(stack: Running) -> dict[str, int]:
    """What is there of projects that the smoke test has made; cleanup takes the rows."""
    counts = {
        "projects": "SELECT count(*) FROM project WHERE name = 'smoke'",
        "tables": "SELECT count(*) FROM context_table t JOIN project p ON p.id = t.project_id"
        " WHERE p.name = 'smoke'",
        "tools": "SELECT count(*) FROM tool t JOIN project p ON p.id = t.project_id"
        " WHERE p.name = 'smoke'",
        "keys": "SELECT count(*) FROM api_key k JOIN project p ON p.id = k.project_id"
        " WHERE p.name = 'smoke' AND k.revoked_at IS NULL",
    }
    return {what: stack.sql(sql)[0][0] for what, sql in counts.items()}


def test_a_whole_walk_is_told_and_leaves_nothing(
    stack: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", stack.internal_secret)
    assert main([stack.base_url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:34].rstrip() for line in lines[:-1]] == [
        "healthz",
        "readyz, the database serves",
        "no route, no function",
        "project",
        "key with an end",
        "table",
        "search tool",
        "indexed by the queue",
        "search by words and meaning",
        "retrieve",
        "MCP initialize",
        "MCP tools/list",
        "MCP tools/call",
        "delete the tool",
        "delete the table",
        "delete the key",
        "delete the project",
        "its key opens nothing any more",
    ]
    assert lines[-1].startswith("all well after ")
    until(lambda: not any(left_behind(stack).values()), INDEXED_WITHIN_S, every_s=0.5)


def test_a_step_that_fails_is_named_and_everything_is_deleted(
    stack: Running, without_mcp: str
) -> None:
    reported: list[str] = []
    with pytest.raises(SmokeError, match="POST /mcp is 500"):
        smoke(without_mcp, stack.internal_secret, reported.append)
    assert [line[:34].rstrip() for line in reported if "FAILED" in line] == ["MCP initialize"]
    assert reported[-2].startswith("delete the project")
    until(lambda: not any(left_behind(stack).values()), INDEXED_WITHIN_S, every_s=0.5)


def test_a_wrong_secret_is_told(
    stack: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "-wrong")  # one of 64 secrets begins with a hyphen
    assert main([stack.base_url]) == 1
    assert "POST /api/v1/projects is 401, not 201" in capsys.readouterr().err


def test_where_nothing_answers_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["http://127.0.0.1:9"]) == 1
    assert "GET /healthz" in capsys.readouterr().err
