"""``ETag`` and ``If-Match``: which revision was shown, and which one a change may be made to."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header

from context_search.domain.errors import InvalidInputError


def etag(revision: int) -> dict[str, str]:
    """Returns the header that shows a revision."""
    return {"ETag": f'"{revision}"'}


async def _revision(
    # A list, because FastAPI takes an empty header for none, and repeated ones for the last.
    if_match: Annotated[list[str] | None, Header()] = None,
) -> int | None:
    if if_match is None:
        return None
    text = ",".join(if_match).strip().removeprefix("W/").strip('"')
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidInputError("If-Match must be the revision, as the ETag shows it")
    return int(text)


IfMatch = Annotated[int | None, Depends(_revision)]
"""The revision of ``If-Match``, None without that header; 422 when it is none."""
