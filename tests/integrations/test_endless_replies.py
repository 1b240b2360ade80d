"""A provider that never comes to an end costs no more than the deadline."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from context_search.core.errors import EmbeddingTimeoutError
from context_search.integrations.models.openai_embedder import OpenAiEmbedder, Route

MODEL = "openai/text-embedding-3-small"
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"
GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
REPLIES = {
    "interim answers": (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "packed nothing": (
        HEAD + b"content-encoding: gzip\r\n\r\na\r\n" + GZIP_HEAD + b"\r\n",
        b"5\r\n" + EMPTY_BLOCK + b"\r\n",
    ),
    "blanks": (HEAD + b"\r\n", b"1\r\n \r\n"),
}


@contextmanager
def server(begin: bytes, again: bytes) -> Iterator[str]:
    """Sends ``again`` until the client hangs up, and gets ahead of it by one only."""
    tick = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            with suppress(OSError):
                self.request.sendall(begin)
                while not tick.wait(0.001):
                    self.request.sendall(again)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}/v1"
        tick.set()
        listening.shutdown()


@pytest.mark.parametrize(("begin", "again"), REPLIES.values(), ids=REPLIES)
def test_a_reply_without_end_is_a_timeout(begin: bytes, again: bytes) -> None:
    with server(begin, again) as url:
        route = Route.of(MODEL, url, has_key=True)
        assert route is not None
        embedder = OpenAiEmbedder(MODEL, 3, route=route, api_key="key")
        thread = ThreadPoolExecutor(1)
        asked = thread.submit(embedder.embed_passages, ["a"], timeout_s=0.3)
        with pytest.raises(EmbeddingTimeoutError):
            asked.result(30)
        thread.shutdown()
