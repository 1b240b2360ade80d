"""The console: one HTML file beside the API, a client of it like any other.

``python -m console.build`` makes the file, gzipped. It holds no data and no secret, and may run
nothing but the script and the style in it: their hashes are computed from it, at first use.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from context_search.core.errors import NotFoundError, ObjectsUnavailableError
from context_search.integrations.ports import Objects
from context_search.web.callers import part
from context_search.web.polled import IfNoneMatch


async def _check_is_on(is_on: Annotated[bool, part("parts.settings.console")]) -> None:
    if not is_on:
        raise NotFoundError("the web console is switched off in this deployment")


ConsoleOnly = Depends(_check_is_on)
"""Refuses with 404 where the deployment has no console."""

router = APIRouter(tags=["console"], dependencies=[ConsoleOnly])

FILE = Path(__file__).with_name("console.html.gz")
_SCRIPT = re.compile(rb"<script[^>]*>(.*?)</script>", re.DOTALL)
_NO_DEVICES = ", ".join(
    f"{device}=()"
    for device in ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
)
_STYLE = re.compile(rb"<style[^>]*>(.*?)</style>", re.DOTALL)


@dataclass(frozen=True)
class ConsolePage:
    """The file as nearly every browser takes it, and what a browser is told about it.

    The page may send documents to where ``objects`` signs places of uploads.
    """

    gzipped: bytes
    objects: Objects

    @cached_property
    def content(self) -> bytes:
        """Returns the page that is in the file."""
        return gzip.decompress(self.gzipped)

    @cached_property
    def headers(self) -> dict[str, str]:
        """Returns the headers of every answer, 304 too."""
        return {
            "ETag": f'"{hashlib.sha256(self.content).hexdigest()[:32]}"',
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding",
            "Content-Security-Policy": self._policy(),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Strict-Transport-Security": "max-age=31536000",
            "Permissions-Policy": _NO_DEVICES,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        }

    def _policy(self) -> str:
        return "; ".join(
            [
                "default-src 'none'",
                f"script-src {_hashes(_SCRIPT, self.content)}",
                f"style-src {_hashes(_STYLE, self.content)}",
                "img-src data:",
                " ".join(["connect-src 'self'", *self._uploads()]),
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
                "require-trusted-types-for 'script'",
                "trusted-types 'none'",
            ]
        )

    def _uploads(self) -> list[str]:
        """Returns the bucket, without the object."""
        try:
            signed = self.objects.sign_put("x", content_type="x", size=1, expires_s=1)
        except ObjectsUnavailableError:
            return []
        place = urlsplit(signed.url)
        return [f"{place.scheme}://{place.netloc}{place.path.rpartition('/')[0]}/"]


def _hashes(pattern: re.Pattern[bytes], content: bytes) -> str:
    digests = (hashlib.sha256(inner).digest() for inner in pattern.findall(content))
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


async def _page_of(
    request: Request, objects: Annotated[Objects, part("parts.objects")]
) -> ConsolePage:
    """Returns the page of this process; the file is read once."""
    state = request.app.state
    if not hasattr(state, "console"):
        state.console = ConsolePage(FILE.read_bytes(), objects)
    page: ConsolePage = state.console
    return page


Use = Annotated[ConsolePage, Depends(_page_of)]


@router.get("/console", include_in_schema=False)
async def console(request: Request, page: Use, polled: IfNoneMatch) -> Response:
    """Answers with the file, or 304 when the browser has it."""
    takes_gzip = "gzip" in request.headers.get("accept-encoding", "").lower()
    body = page.gzipped if takes_gzip else page.content
    coding = {"Content-Encoding": "gzip"} if takes_gzip else {}
    whole = Response(body, headers={**page.headers, **coding}, media_type="text/html")
    return polled.unless_known(whole)
