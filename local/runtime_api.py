"""Lambda's Runtime API on this machine: hands events to a runtime client and takes its answers.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import json
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any, cast

from local.invocation import ACCOUNT, REGION

_RUNTIME = "/2018-06-01/runtime/"


@dataclass(frozen=True, slots=True)
class Report:
    """What a runtime client posted; ``kind`` is the last part of the address.

    ``next`` when it asks for an event, ``response``, or ``error`` (of INIT too).
    """

    kind: str
    body: Any = None


class RuntimeApi:
    """The API of one execution environment, which does one thing at a time."""

    def __init__(self, function: str, timeout_s: float) -> None:
        self.address = ""
        """Host and port, once it runs."""
        self._arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{function}"
        self._timeout_s = timeout_s
        self._events: Queue[bytes | None] = Queue()
        self._reports: Queue[Report] = Queue()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serves on a free port of this machine."""
        server = _Server(("127.0.0.1", 0), _Handler)
        server.api = self
        self.address = f"127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield
        finally:
            self._events.put(None)  # lets the thread go that waits for an event
            server.shutdown()
            server.server_close()

    def give(self, event: Any) -> None:
        """Hands an event to whoever asks next."""
        self._events.put(json.dumps(event).encode())

    def report(self, wait_s: float) -> Report | None:
        """What the client did next, or None when it did nothing for so long."""
        try:
            return self._reports.get(timeout=wait_s)
        except Empty:
            return None

    def take_event(self) -> tuple[dict[str, str], bytes] | None:
        """Waits for an event; its headers and its text, or None when there will be no more."""
        self._reports.put(Report("next"))
        event = self._events.get()
        if event is None:
            return None
        deadline_ms = int((time.time() + self._timeout_s) * 1000)
        headers = {
            "Lambda-Runtime-Aws-Request-Id": str(uuid.uuid4()),
            "Lambda-Runtime-Deadline-Ms": str(deadline_ms),
            "Lambda-Runtime-Invoked-Function-Arn": self._arn,
            "Content-Type": "application/json",
        }
        return headers, event

    def take_report(self, path: str, body: bytes) -> None:
        """Keeps a response, or the error of an invocation or of INIT."""
        self._reports.put(Report(path.rpartition("/")[2], json.loads(body or b"null")))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    api: RuntimeApi

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints what went wrong here; a function that is killed hangs up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        if self.path != f"{_RUNTIME}invocation/next":
            self._answer(404, {}, b"")
        elif given := cast("_Server", self.server).api.take_event():
            self._answer(200, *given)
        else:
            self.close_connection = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        cast("_Server", self.server).api.take_report(self.path, body)
        self._answer(202, {"Content-Type": "application/json"}, b'{"status": "OK"}')

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
