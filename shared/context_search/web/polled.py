"""Answers that clients ask for again and again: one that they have already is not sent twice.

The tag is of the content: it saves the body and what a client makes of it, and none of our work.
No counter could stand for these answers, as a status changes with the clock, too.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Response

from context_search.web.fields import Answer

# RFC 9110, section 13.1.2; a comparison is weak, so W/ does not count.
_TAG = re.compile(r'\s*(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The client has it: If-None-Match names its tag"}
}
"""What the routes of this kind answer besides."""


@dataclass(frozen=True, slots=True)
class Polled:
    """What a client has of an answer: the text of its ``If-None-Match``."""

    known: str

    def response(self, answer: Answer) -> Response:
        """Returns the answer with its weak tag; 304 without a body where the client has it."""
        whole = answer.response()
        opaque = f'"{hashlib.sha256(whole.body).hexdigest()[:32]}"'
        tag = {"ETag": f"W/{opaque}"}
        if self.known.strip() == "*" or opaque in _tags(self.known):
            return Response(status_code=304, headers=tag)
        whole.headers.update(tag)
        return whole


def _tags(text: str) -> list[str]:
    """Returns the tags of a list; none where one of them has another form."""
    found, at = list[str](), 0
    while tag := _TAG.match(text, at):
        found.append(tag[1])
        at = tag.end()
    return found if at == len(text) else []


async def _polled(if_none_match: Annotated[list[str] | None, Header()] = None) -> Polled:
    # A list, because FastAPI takes repeated headers for the last.
    return Polled(",".join(if_none_match or ()))


IfNoneMatch = Annotated[Polled, Depends(_polled)]
"""For ``GET`` routes that are polled. A tag of any other form matches nothing."""
