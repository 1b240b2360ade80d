"""Walks a deployment from outside, as its users do, and deletes what it made.

    SECRET=… python -m scripts.smoke https://…          (make smoke URL=https://… SECRET=…)

A line for each step with its time; ends with 1 after the first step that fails. What was made is
deleted either way, with the project that it is in.
Needs nothing but Python: it runs where the deployment can be reached.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

JsonObject = dict[str, Any]
Headers = dict[str, str]

REQUEST_S = 35.0  # API Gateway gives up after 30
READY_S = 300.0
WARM_S = 60.0
_POLL_S = 1.0
_MCP_VERSION = "2025-11-25"
_ANSWER = "The lighthouse keeper of Skagen wound the clockwork of the lamp every four hours."
QUESTION = "How often did the keeper wind the lamp's clockwork?"
DOCUMENT = {
    "notes": " ".join(
        [
            *(
                f"Entry {day}: calm sea, nothing to report from the north pier."
                for day in range(90)
            ),
            _ANSWER,
            *(f"Entry {day}: fog in the morning, two ships passed." for day in range(90, 180)),
        ]
    )
}


class SmokeError(Exception):
    """A step did not do what it must."""


class Deployment:
    """The HTTP API at ``url``."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        proxies: dict[str, str] | None = (
            {} if "//127.0.0.1" in url or "//localhost" in url else None
        )
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))

    def ask(
        self, method: str, path: str, headers: Headers, body: object = None, *, expect: int = 200
    ) -> JsonObject:
        """The answer's JSON, ``{}`` without a body. Raises SmokeError for another status."""
        data = None if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"content-type": "application/json"}
        request = urllib.request.Request(  # noqa: S310 - whoever calls names the address
            self._url + path, data, {"accept": "application/json", **kind, **headers}, method=method
        )
        try:
            with self._opener.open(request, timeout=REQUEST_S) as reply:
                status, text = reply.status, reply.read()
        except urllib.error.HTTPError as refusal:
            status, text = refusal.code, refusal.read()
        except OSError as error:
            raise SmokeError(f"{method} {path}: {error}") from error
        if status != expect:
            said = text[:500].decode(errors="replace")
            raise SmokeError(f"{method} {path} is {status}, not {expect}: {said}")
        return dict(json.loads(text)) if text else {}

    def rpc(self, headers: Headers, method: str, params: JsonObject) -> JsonObject:
        """The result of one MCP request. Raises SmokeError for an error."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accepted = {"accept": "application/json, text/event-stream"}
        if method != "initialize":
            accepted["mcp-protocol-version"] = _MCP_VERSION
        answer = self.ask("POST", "/mcp", {**headers, **accepted}, body)
        if "result" not in answer:
            raise SmokeError(f"MCP {method}: {answer}")
        return dict(answer["result"])


class Smoke:
    """One walk; ``report`` gets its lines."""

    def __init__(self, deployment: Deployment, secret: str, report: Callable[[str], None]) -> None:
        self._api = deployment
        self._operator = {"x-internal-secret": secret}
        self._report = report
        self._undo = ExitStack()

    def walk(self) -> None:
        """Every step; what they made is deleted at the end, whatever happens. Raises SmokeError."""
        with self._undo:
            self._serves()
            project, key = self._make_project()
            tool = self._make_tool(project, key)
            self._wait(tool["tool_id"], key)
            self._find(tool["tool_id"], key)
            self._ask_as_agent(tool["name"], key)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        outcome = "FAILED"
        try:
            yield
            outcome = "ok"
        finally:
            self._report(f"{name:34}{outcome:8}{time.monotonic() - started:7.2f} s")

    def _delete_at_end(self, what: str, path: str, key: Headers) -> None:
        def delete() -> None:
            with self._step(f"delete the {what}"):
                self._api.ask("DELETE", path, key, expect=204)

        self._undo.callback(delete)

    def _delete_project_at_end(self, path: str, key: Headers) -> None:
        def refused() -> None:
            with self._step("its key opens nothing any more"):
                self._api.ask("GET", f"{path}/keys", key, expect=401)

        self._undo.callback(refused)
        self._delete_at_end("project", path, self._operator)

    def _serves(self) -> None:
        with self._step("healthz"):
            self._api.ask("GET", "/healthz", {})
        with self._step("readyz, the database serves"):
            self._api.ask("GET", "/readyz", {})
        with self._step("no route, no function"):
            answer = self._api.ask("GET", "/nowhere", {}, expect=404)
            require(answer.keys() == {"message"}, f"a function has answered: {answer}")

    def _make_project(self) -> tuple[int, Headers]:
        with self._step("project"):
            made = self._api.ask(
                "POST", "/api/v1/projects", self._operator, {"name": "smoke"}, expect=201
            )
        first = {"authorization": f"Bearer {made['api_key']}"}
        path = f"/api/v1/projects/{made['id']}"
        self._delete_project_at_end(path, first)
        keys = f"{path}/keys"
        with self._step("key with an end"):
            wish = {"name": "smoke", "expires_in": 3600}
            second = self._api.ask("POST", keys, first, wish, expect=201)
        key = {"authorization": f"Bearer {second['api_key']}"}
        self._delete_at_end("key", f"{keys}/{second['id']}", first)
        return made["id"], key

    def _make_tool(self, project: int, key: Headers) -> JsonObject:
        with self._step("table"):
            wish = {"project_id": project, "name": "smoke", "data": DOCUMENT}
            table = self._api.ask("POST", "/api/v1/tables", key, wish, expect=201)
        self._delete_at_end("table", f"/api/v1/tables/{table['id']}", key)
        with self._step("search tool"):
            tool = self._api.ask(
                "POST",
                "/api/v1/tools/search",
                key,
                {
                    "project_id": project,
                    "table_id": table["id"],
                    "name": "search_smoke",
                    "search_config": {"chunk_threshold": 5000},
                },
                expect=201,
            )
        self._delete_at_end("tool", f"/api/v1/tools/{tool['tool_id']}", key)
        return tool

    def _wait(self, tool: int, key: Headers) -> None:
        with self._step("indexed by the queue"):
            deadline = time.monotonic() + READY_S
            while True:
                index = self._api.ask("GET", f"/api/v1/tools/{tool}/search-index", key)
                if index["status"] == "ready":
                    break
                late = time.monotonic() > deadline
                require(index["status"] == "indexing" and not late, f"not ready: {index}")
                time.sleep(_POLL_S)
            require(index["indexed_chunks_count"] > 10, f"too few chunks: {index}")

    def _find(self, tool: int, key: Headers) -> None:
        with self._step("search by words and meaning"):
            # A cold function may need longer than an embedding may take.
            deadline = time.monotonic() + WARM_S
            path = f"/api/v1/tools/{tool}/search"
            answer = self._api.ask("POST", path, key, {"query": QUESTION})
            while answer["retrieval"]["degraded"] and time.monotonic() < deadline:
                answer = self._api.ask("POST", path, key, {"query": QUESTION})
            how = answer["retrieval"]
            require(not how["degraded"] and how["mode_used"] == "hybrid", f"degraded: {how}")
            require(_found(answer), "the passage is not among the results")
        with self._step("retrieve"):
            answer = self._api.ask(
                "POST", f"/api/v1/tools/{tool}/retrieve", key, {"query": QUESTION, "minScore": 0.0}
            )
            texts = " ".join(hit["text"] for hit in answer["results"])
            require(_ANSWER in texts, "the passage was not retrieved")

    def _ask_as_agent(self, name: str, key: Headers) -> None:
        with self._step("MCP initialize"):
            client = {"name": "smoke", "version": "1"}
            hello = {"protocolVersion": _MCP_VERSION, "capabilities": {}, "clientInfo": client}
            self._api.rpc(key, "initialize", hello)
        with self._step("MCP tools/list"):
            names = [tool["name"] for tool in self._api.rpc(key, "tools/list", {})["tools"]]
            require(name in names, f"tools {names}")
        with self._step("MCP tools/call"):
            call = {"name": name, "arguments": {"query": QUESTION, "top_k": 3}}
            result = self._api.rpc(key, "tools/call", call)
            require(not result.get("isError"), f"{result.get('content')}")
            require(_found(result["structuredContent"]), "the passage is not among the results")


def require(holds: object, otherwise: str) -> None:
    """Raises SmokeError with what is wrong."""
    if not holds:
        raise SmokeError(otherwise)


def _found(answer: JsonObject) -> bool:
    return any("every four hours" in hit["chunk"]["chunk_text"] for hit in answer["results"])


def smoke(url: str, secret: str, report: Callable[[str], None] = print) -> None:
    """Walks the deployment at ``url``. Raises SmokeError with the first thing that is wrong."""
    Smoke(Deployment(url), secret, report).walk()


def main(argv: list[str] | None = None) -> int:
    """Returns 0 when every step did what it must."""
    parser = argparse.ArgumentParser(prog="python -m scripts.smoke", description=__doc__)
    parser.add_argument("url")
    wish = parser.parse_args(argv)
    secret = os.environ.get("SECRET", "")  # noqa: TID251 - no secret in a list of processes
    started = time.monotonic()
    try:
        smoke(wish.url, secret)
    except SmokeError as error:
        print(f"smoke: {error}", file=sys.stderr)
        return 1
    print(f"all well after {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
