"""The body of a request on its way to a function: how long it may be, and where it ends.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Message = dict[str, Any]
    Receive = Callable[[], Awaitable[Message]]

MAX_BODY_BYTES = 10 * 1024 * 1024
MAX_EVENT_BYTES = 6 * 1024 * 1024


async def read_body(receive: Receive) -> bytes | None:
    """The whole body, or None for one over the limit (read to its end, so the client hears us).

    Raises ConnectionResetError when the client goes away before the end.
    """
    pieces: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("the client went away")
        piece = message.get("body", b"")
        size += len(piece)
        if size <= MAX_BODY_BYTES:
            pieces.append(piece)
        more = message.get("more_body", False)
    return b"".join(pieces) if size <= MAX_BODY_BYTES else None


def has_two_lengths(scope: Message) -> bool:
    """Whether servers on the way may disagree about where the body ends (RFC 9112, 6.1)."""
    names = {name for name, _ in scope["headers"]}
    return {b"content-length", b"transfer-encoding"} <= names


def fits_an_event(body: bytes) -> bool:
    """Lambda takes 6 MB, and the body travels as a JSON string, its quotes escaped."""
    if len(body) <= MAX_EVENT_BYTES // 3:
        return True
    text = body.decode("utf-8", "replace")
    return len(json.dumps(text, ensure_ascii=False).encode()) <= MAX_EVENT_BYTES
