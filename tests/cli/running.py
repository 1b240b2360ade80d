"""The command line as a user runs it, against the real API in this process."""

from __future__ import annotations

import io
import json
import re
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from context_search.integrations.ports import SignedPut
from context_search_cli.command import World
from context_search_cli.main import app
from testing.in_memory.objects import DictObjects
from tests.web.api import SECRET, LocalParts
from tests.web.in_process import InProcess

URL = "http://testserver"
BUCKET = "http://bucket.test/"
_COMMANDS = get_command(app)  # to build all of them takes longer than to run one
Before = Callable[[httpx2.Request], httpx2.Response | None]


class HttpObjects(DictObjects):
    """The objects in memory at an address of their own."""

    def sign_put(self, key: str, *, content_type: str, size: int, expires_s: int) -> SignedPut:
        """A URL below the bucket, with a signature that nobody may print."""
        signed = super().sign_put(key, content_type=content_type, size=size, expires_s=expires_s)
        return replace(signed, url=f"{BUCKET}{key}?signature=canary-signature")


class CliParts(LocalParts):
    """The parts of the API, with a bucket that is reached by HTTP."""

    @cached_property
    def objects(self) -> HttpObjects:
        """The bucket."""
        return HttpObjects()


class Network(httpx2.BaseTransport):
    """All that the command line can reach: the API and the bucket.

    ``before`` look at each request and may answer it, or raise, in the server's place; one that
    has answered is used up. ``after`` may spoil an answer of the server.
    """

    def __init__(self, inside: InProcess, objects: DictObjects) -> None:
        self.inside = inside
        self.objects = objects
        self.requests: list[httpx2.Request] = []
        self.before: list[Before] = []
        self.lose_next_reply: str | None = None
        self.working = threading.Lock()
        """Who serves: one request after the other, also where several are sent at once."""

    def meets(self, address: str, then: httpx2.Response | BaseException, *, times: int = 1) -> None:
        """Has requests whose URL matches get an answer, or an error, in the server's place."""

        def before(request: httpx2.Request) -> httpx2.Response | None:
            if not re.search(address, str(request.url).partition("?")[0]):
                return None
            if isinstance(then, BaseException):
                raise then
            return then

        self.before += [before] * times

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """One exchange."""
        request.read()
        self.requests.append(request)
        for each in list(self.before):
            if (reply := each(request)) is not None:
                self.before.remove(each)
                return reply
        if str(request.url).startswith(BUCKET):
            return self._kept(request)
        with self.working, elsewhere():
            reply = self.inside.handle_request(request)
        if self.lose_next_reply and self.lose_next_reply in request.url.path:
            self.lose_next_reply = None
            raise httpx2.ReadError("the reply was lost", request=request)
        return reply

    def _kept(self, request: httpx2.Request) -> httpx2.Response:
        assert "authorization" not in request.headers
        if request.method == "OPTIONS":
            return httpx2.Response(200, headers={"Access-Control-Allow-Origin": "*"})
        self.objects.contents[request.url.path.removeprefix("/")] = request.content
        return httpx2.Response(200)


def elsewhere() -> AbstractContextManager[object]:
    """What the server prints (its metrics) is printed by another process."""
    return redirect_stdout(io.StringIO())


@dataclass(frozen=True)
class Result:
    """What a shell sees."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[list[str]]:
        """The rows of a list, without its head."""
        return [line.split("\t") for line in self.out.splitlines()[1:]]


@dataclass
class CommandLine:
    """One user's terminal, in a pipe: a folder, an environment, a project."""

    parts: CliParts
    network: Network
    folder: Path
    project_id: int
    key: str = field(repr=False)
    environment: dict[str, str] = field(default_factory=dict)
    pauses: list[float] = field(default_factory=list)
    may_be_printed: set[str] = field(default_factory=set)

    def __call__(self, *words: object, stdin: str | bytes | None = None) -> Result:
        """Runs a command; what is secret is in nothing that it prints."""
        with CliRunner().isolation(input=stdin) as (out, err, _):
            with pytest.raises(SystemExit) as end:
                _COMMANDS.main(
                    args=list(map(str, words)), prog_name="context-search", obj=self.world
                )
            sys.stdout.flush()
            sys.stderr.flush()
            printed = [stream.getvalue().decode().replace("\r\n", "\n") for stream in (out, err)]
        for secret in {self.key, SECRET, "canary-signature"} - self.may_be_printed:
            assert secret not in "".join(printed)
        return Result(int(end.value.code or 0), *printed)

    def done(self, *words: object, stdin: str | bytes | None = None) -> Result:
        """The same of a command that does what it is told."""
        result = self(*words, stdin=stdin)
        assert result.code == 0, result.err
        return result

    def json(self, *words: object, stdin: str | bytes | None = None) -> Any:
        """The document that such a command prints."""
        return self.done(*words, "--json", stdin=stdin).document

    @property
    def world(self) -> World:
        """What the command gets from outside; while it waits, the workers work."""
        environment = {
            "HOME": str(self.folder),
            "CONTEXT_SEARCH_URL": URL,
            "CONTEXT_SEARCH_KEY": self.key,
            **self.environment,
        }
        return World(environment, self.folder, self.network, self._pause)

    def file(self, name: str, content: object) -> Path:
        """A file in the folder: bytes and texts as they are, else JSON."""
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(text, encoding="utf-8")
        return path

    def table(self, content: object, name: str = "library") -> int:
        """The id of a table that is imported."""
        path = self.file(f"{name}.json", content)
        return int(self.done("tables", "import", path, "-q").out)

    def tool(self, table: int, *options: object) -> int:
        """The id of a tool over it, indexed; strings of 20 characters count."""
        small = ("--chunk-threshold", 20, "--chunk-size", 100, "--chunk-overlap", 10)
        made = self.done("tools", "create", table, *small, "--wait", "-q", *options)
        return int(made.out)

    def paths(self, method: str) -> Sequence[str]:
        """What was asked for, in order."""
        return [each.url.path for each in self.network.requests if each.method == method]

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        with self.network.working, elsewhere():
            self.parts.work()
