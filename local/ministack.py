"""``python -m local.ministack [ORIGIN...]``: MiniStack for programs of this machine, not for pages.

By itself it answers to any ``Host``, and lets scripts of every site read what it says
(``Access-Control-Allow-Origin: *``), to purge queues and read uploads among other things. Pages
of those origins, the stack's own, may put uploads, as the bucket of the template lets them.
"""

from __future__ import annotations

import sys

from ministack import app as ministack
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local.emulator import UPLOAD_BUCKET
from local.loopback_only import loopback_only


def in_one_piece(app: ASGIApp) -> ASGIApp:
    """MiniStack with each body in one message.

    It adds piece to piece by copying all that is there: 100 MB took minutes.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        pieces: list[bytes] = []

        async def receive_whole() -> Message:
            while (message := await receive())["type"] == "http.request":
                pieces.append(message.get("body", b""))
                if not message.get("more_body", False):
                    whole, pieces[:] = b"".join(pieces), []
                    return {"type": "http.request", "body": whole, "more_body": False}
            return message

        await app(scope, receive_whole, send)

    return serve


if __name__ == "__main__":
    pages, sys.argv[1:] = sys.argv[1:], []  # it takes arguments of its own
    ministack.app = loopback_only(  # what its main() serves
        in_one_piece(ministack.app), pages=pages, uploads=f"/{UPLOAD_BUCKET}/"
    )
    ministack.main()
