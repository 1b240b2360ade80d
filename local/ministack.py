"""``python -m local.ministack FD [ORIGIN...]``: MiniStack on a socket that its parent has bound.

It serves programs of this machine, not pages. By itself it answers to any ``Host``, and lets
scripts of every site read what it says (``Access-Control-Allow-Origin: *``), to purge queues and
read uploads among other things. Pages of those origins, the stack's own, may put uploads, as the
bucket of the template lets them.
"""

from __future__ import annotations

import socket
import sys

from hypercorn.config import Config, Sockets
from ministack import app as ministack
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local.emulator import UPLOAD_BUCKET
from local.loopback_only import loopback_only


def in_one_piece(app: ASGIApp) -> ASGIApp:
    """MiniStack with each body in one message.

    It adds piece to piece by copying all that is there: 100 MB took minutes. A body that ends in
    the middle does not reach it: it would keep an empty object, where S3 keeps none.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        pieces: list[bytes] = []
        while (message := await receive())["type"] == "http.request":
            pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                break
        else:
            return
        whole = [b"".join(pieces)]
        pieces.clear()

        async def receive_whole() -> Message:
            if not whole:
                return await receive()
            return {"type": "http.request", "body": whole.pop(), "more_body": False}

        await app(scope, receive_whole, send)

    return serve


def serve_on(fd: int) -> None:
    """Let MiniStack's main() take the bound socket ``fd`` in place of a port."""

    def create_sockets(self: Config) -> Sockets:  # noqa: ARG001
        return Sockets([], [socket.socket(fileno=fd)], [])

    Config.create_sockets = create_sockets  # type: ignore[method-assign]


if __name__ == "__main__":
    fd, *pages = sys.argv[1:]
    sys.argv[1:] = []  # it takes arguments of its own
    serve_on(int(fd))
    ministack.app = loopback_only(  # what its main() serves
        in_one_piece(ministack.app), pages=pages, uploads=f"/{UPLOAD_BUCKET}/"
    )
    ministack.main()
