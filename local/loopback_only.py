"""What stands before a part of the local stack that needs no key from whoever reaches it.

It listens on 127.0.0.1, which every web page that this machine shows can reach too: under the
name of its own site, if that is made to lead here (DNS rebinding), or across sites.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_HOSTS = ("127.0.0.1:*", "localhost:*", "[::1]:*")
"""The names of this machine, as ``ALLOWED_HOSTS`` has them."""


def loopback_only(app: ASGIApp, *, pages: Collection[str] = (), uploads: str = "") -> ASGIApp:
    """The application for programs of this machine.

    Another ``Host`` than this machine's names is 400. Any ``Origin`` is 403: only browsers send
    one, and no page has a reason to come here. But those of the origins ``pages`` may put what is
    below the path ``uploads``, and ask whether they may.
    """

    def is_upload(scope: Scope) -> bool:
        from_page = Headers(scope=scope).get("origin") in pages
        puts = scope["type"] == "http" and scope["method"] in ("PUT", "OPTIONS")
        path: str = scope["path"]
        return from_page and puts and path.startswith(uploads) and ".." not in path.split("/")

    async def without_pages(scope: Scope, receive: Receive, send: Send) -> None:
        has_origin = scope["type"] in ("http", "websocket") and "origin" in Headers(scope=scope)
        if has_origin and not is_upload(scope):
            refusal = PlainTextResponse("no web page is served here", status_code=403)
            await refusal(scope, receive, send)
            return
        await app(scope, receive, send)

    return TrustedHostMiddleware(without_pages, ["127.0.0.1", "localhost"], www_redirect=False)
