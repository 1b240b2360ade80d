"""OpenAI's embeddings route on a real socket."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.adapters.scripted_embeddings import item, vector


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints what went wrong here; a client that has had enough hangs up."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class OpenAiServer:
    """An HTTP server with OpenAI's ``/embeddings``; ``status`` and ``headers`` set what it does.

    With ``accepted`` every other key gets the status ``refusal``. ``raw`` is an answer to give
    instead of vectors.
    """

    def __init__(self) -> None:
        self.accepted: str | None = None
        self.refusal = 401
        self.status, self.headers = 200, dict[str, str]()
        self.raw: bytes | None = None
        self.requests: list[tuple[dict[str, Any], str]] = []
        self.paths: list[str] = []
        self.connections: set[Any] = set()
        self.answering = threading.Event()
        self.answering.set()

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.status != 200:
            return {"error": {"message": f"no: {body['input']}", "type": "t", "code": "c"}}
        vectors = [item(i, vector(len(text))) for i, text in enumerate(body["input"])]
        tokens = sum(map(len, body["input"]))  # a character is one
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return {"object": "list", "data": vectors[::-1], "model": body["model"], "usage": usage}

    @contextmanager
    def running(self) -> Iterator[str]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None: ...

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = json.loads(self.rfile.read(length))
                outer.requests.append((body, self.headers["authorization"]))
                outer.paths.append(self.path)
                outer.connections.add(self.client_address)
                outer.answering.wait()
                with suppress(ConnectionError):  # a client past its deadline has hung up
                    self.answer(outer.raw or json.dumps(outer.reply(body)).encode())

            def answer(self, raw: bytes) -> None:
                expected = outer.accepted and f"Bearer {outer.accepted}"
                known = expected in (None, self.headers["authorization"])
                self.send_response(outer.status if known else outer.refusal)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            self.answering.set()
            server.shutdown()
            server.server_close()
