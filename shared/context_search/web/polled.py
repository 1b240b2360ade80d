"""``If-None-Match``: an answer that a client has already is not sent twice.

It saves the body and what a client makes of it, and none of our work. The tag is the revision of
what is shown, or one of the content: no counter stands for a status, which changes with the clock.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Response
from pydantic import WithJsonSchema

from context_search.web.fields import AnswerModel

# RFC 9110, section 13.1.2; a comparison is weak, so W/ does not count.
_TAG = re.compile(r'\s*(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)')
_SCHEMA = {"type": "string", "examples": ['"1"', 'W/"0f1e"']}
_OF_A_BODY = ("content-type", "content-length", "content-encoding")
NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "The client has it: If-None-Match names its tag"}
}
"""What the routes of this kind answer besides."""


@dataclass(frozen=True, slots=True)
class Polled:
    """What a client has of an answer: the text of its ``If-None-Match``."""

    known: str

    def response(self, answer: AnswerModel) -> Response:
        """Returns the answer with its weak tag; 304 without a body where the client has it."""
        whole = answer.response()
        opaque = f'"{hashlib.sha256(whole.body).hexdigest()[:32]}"'
        whole.headers["ETag"] = f"W/{opaque}"
        return self.unless_known(whole)

    def unless_known(self, whole: Response) -> Response:
        """Returns an answer that has a tag; 304 without a body where the client has it."""
        opaque = whole.headers["ETag"].removeprefix("W/")
        if self.known.strip() != "*" and opaque not in _tags(self.known):
            return whole
        kept = {name: text for name, text in whole.headers.items() if name not in _OF_A_BODY}
        return Response(status_code=304, headers=kept)


def _tags(text: str) -> list[str]:
    """Returns the tags of a list; none where one of them has another form."""
    found, at = list[str](), 0
    while tag := _TAG.match(text, at):
        found.append(tag[1])
        at = tag.end()
    return found if at == len(text) else []


async def _polled(
    # A list, because FastAPI takes repeated headers for the last.
    if_none_match: Annotated[list[str] | None, WithJsonSchema(_SCHEMA), Header()] = None,
) -> Polled:
    return Polled(",".join(if_none_match or ()))


IfNoneMatch = Annotated[Polled, Depends(_polled)]
"""For ``GET`` routes whose ETag changes whenever the answer does.

A tag of any other form matches nothing.
"""
