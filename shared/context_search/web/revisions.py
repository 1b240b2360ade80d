"""``ETag`` and ``If-Match``: which revision was shown, and which one a change may be made to."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Header
from pydantic import WithJsonSchema

from context_search.core.errors import InvalidInputError, PreconditionFailedError

# RFC 9110, section 8.8.3; a header's bytes are read as Latin-1.
_TAG = re.compile(r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_SCHEMA = {"type": "string", "pattern": '^"(0|[1-9][0-9]{0,17})"$', "examples": ['"1"']}
_REVISION = re.compile(r"0|[1-9][0-9]{0,17}")


def etag(revision: int) -> dict[str, str]:
    """Returns the header that shows a revision."""
    return {"ETag": f'"{revision}"'}


async def _revision(
    # A list, because FastAPI takes an empty header for none, and repeated ones for the last.
    if_match: Annotated[list[str] | None, WithJsonSchema(_SCHEMA), Header()] = None,
) -> int | None:
    if if_match is None:
        return None
    tag = _TAG.fullmatch(",".join(if_match).strip())
    if tag is None:
        raise InvalidInputError("If-Match must be one entity-tag in quotes, as the ETag shows it")
    # The comparison is strong (RFC 9110, section 13.1.1): a weak tag matches nothing.
    if tag[1] or not _REVISION.fullmatch(tag[2]):
        raise PreconditionFailedError("If-Match has a tag that no revision has: weak, or not ours")
    return int(tag[2])


IfMatch = Annotated[int | None, Depends(_revision)]
"""The revision of ``If-Match``, None without that header.

422 when it is no tag, or several; 412 when no revision ever has that tag.
"""
