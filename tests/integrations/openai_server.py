"""OpenAI's embeddings route on a real socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.integrations.json_server import JsonHandler, serving
from tests.integrations.scripted_embeddings import item, vector


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

        class Handler(JsonHandler):
            def answer(self, body: bytes) -> None:
                asked = json.loads(body)
                outer.requests.append((asked, self.headers["authorization"]))
                outer.paths.append(self.path)
                outer.connections.add(self.client_address)
                outer.answering.wait()
                expected = outer.accepted and f"Bearer {outer.accepted}"
                known = expected in (None, self.headers["authorization"])
                raw = outer.raw or json.dumps(outer.reply(asked)).encode()
                with suppress(ConnectionError):  # a client past its deadline has hung up
                    self.give(outer.status if known else outer.refusal, raw, outer.headers)

        with serving(Handler) as url:
            try:
                yield f"{url}/v1"
            finally:
                self.answering.set()
