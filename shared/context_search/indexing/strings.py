"""The strings of an index one by one: how far each is, who mends it, where its chunks are."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from context_search.access.lookup import index_of, live_table, live_tool, project_index
from context_search.core.callers import Principal
from context_search.core.errors import CursorInvalidError, NotFoundError
from context_search.core.json_pointer import contains, split
from context_search.core.model import Generation, Scope
from context_search.core.progress import PROJECT_FULL, NodeProgress, NodeState
from context_search.indexing.rules.large_strings import (
    ChunkSpan,
    LargeString,
    StringPage,
    StringPlace,
)
from context_search.store import UnitOfWork

MAX_STRINGS = 200
"""Maximum number of strings on a page."""
MAX_SPANS = 1_000
"""Maximum number of chunks on a page."""
LOOKED_AT = 2_000
"""Maximum number of strings that a request looks at for those that are indexed."""
MAX_CURSOR = 1_200
_PAGE_CHARS = 500_000
"""Of pointers: an answer has 6 MB, and a character takes up to six bytes as JSON."""
_CURSOR = re.compile(r"([1-9][0-9]{0,18})\.([A-Za-z0-9_-]*)")
_TABLE = re.compile(r"([1-9][0-9]{0,18})\.(.*)")
_OF_CALLERS = frozenset({"NODE_TOO_LARGE", "NODE_TOO_MANY_CHUNKS", PROJECT_FULL})
MendedBy = Literal["itself", "you", "operator"]


@dataclass(frozen=True, slots=True)
class Strings:
    """A page of strings, and the cursor of the next one."""

    rows: Sequence[LargeString]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Spans:
    """A string with a page of its chunks, and the index to go on from."""

    string: LargeString
    generation: Generation
    rows: Sequence[ChunkSpan]
    next_index: int | None


def strings_of_tool(
    work: UnitOfWork,
    principal: Principal,
    tool_id: int,
    *,
    state: NodeState | None,
    cursor: str | None,
    limit: int,
) -> Strings:
    """Returns strings of a tool's scope by pointer; a page of one state may be short.

    It is shorter where pointers are long, too. Raises NotFoundError and CursorInvalidError.
    """
    place = None if cursor is None else _place_of(cursor)
    tool = live_tool(work, tool_id, principal)
    page = work.large_strings.page(
        index_of(work, tool),
        tool.scope,
        state=state,
        after=None if place is None else StringPlace(tool.scope.table_id, *place),
        limit=limit,
        among=LOOKED_AT,
    )
    rows, end = _fitting(page)
    return Strings(rows, None if end is None else _text_of(end))


def strings_of_project(
    work: UnitOfWork,
    principal: Principal,
    table_id: int | None,
    *,
    state: NodeState | None,
    cursor: str | None,
    limit: int,
) -> Strings:
    """Returns strings of the index of a project, of one table or of all, table by table.

    Otherwise as ``strings_of_tool`` does. Raises ProjectIndexOffError, too.
    """
    after = None if cursor is None else _place_in_project(cursor)
    if table_id is not None:
        live_table(work, principal, table_id)
    index = project_index(work, principal)
    if after is not None and table_id not in (None, after.table_id):
        raise CursorInvalidError("the cursor is of another table")
    page = work.large_strings.page(
        index,
        None if table_id is None else Scope(table_id, ""),
        state=state,
        after=after,
        limit=limit,
        among=LOOKED_AT,
    )
    rows, end = _fitting(page)
    return Strings(rows, None if end is None else f"{end.table_id}.{_text_of(end)}")


def chunk_spans(
    work: UnitOfWork,
    principal: Principal,
    tool_id: int,
    pointer: str,
    *,
    char: int,
    first: int | None,
    limit: int,
) -> Spans:
    """Returns chunks of a string, from the one that ends behind ``char`` on, or from ``first``.

    Raises InvalidPointerError, and NotFoundError also for what is no string of the tool's index.
    """
    split(pointer)
    tool = live_tool(work, tool_id, principal)
    index = index_of(work, tool)
    string = work.large_strings.at(index, tool.scope.table_id, [pointer]).get(pointer)
    if string is None or not contains(tool.scope.json_pointer, pointer):
        raise NotFoundError("the index of the tool has no such string")
    if string.set_id is None:
        return Spans(string, index.generation, [], None)
    count = string.progress.chunks_count or 0
    if first is None:
        first = work.large_strings.first_behind(string.set_id, count, char)
    rows = work.large_strings.spans(string.set_id, first=first, limit=limit)
    behind = first + limit
    return Spans(string, index.generation, rows, behind if behind < count else None)


def mended_by(progress: NodeProgress) -> MendedBy | None:
    """Returns who has to do something before a string is indexed; None: it is.

    ``you``: whoever wrote the document, or may have it tried again.
    """
    if progress.state == "indexed":
        return None
    if progress.state in ("queued", "claimed"):
        return "itself"
    code = (progress.last_error or {}).get("code")
    return "you" if code in _OF_CALLERS or code == "EMBEDDING_REJECTED" else "operator"


def in_state_since(string: LargeString) -> datetime:
    """Returns when a string got into its state, as far as that is kept."""
    progress = string.progress
    if progress.state == "indexed" and string.indexed_at is not None:
        return string.indexed_at
    at = (progress.last_error or {}).get("at")
    if progress.state in ("quarantined", "skipped"):
        with suppress(ValueError):  # a row that somebody else has written
            return datetime.fromisoformat(str(at))
    return string.changed_at


def _fitting(page: StringPage) -> tuple[Sequence[LargeString], StringPlace | None]:
    """Returns the strings whose pointers fit into an answer, and where the next page begins."""
    chars = 0
    for count, each in enumerate(page.rows):
        chars += len(each.progress.json_pointer)
        if count and chars > _PAGE_CHARS:
            return page.rows[:count], StringPlace.of(page.rows[count - 1])
    return page.rows, page.next_after


def _text_of(place: StringPlace) -> str:
    pointer = base64.urlsafe_b64encode(place.pointer.encode()).decode().rstrip("=")
    return f"{place.id}.{pointer}"


def _place_in_project(cursor: str) -> StringPlace:
    parsed = _TABLE.fullmatch(cursor)
    if parsed is None or int(parsed[1]) > 2**63 - 1:
        raise CursorInvalidError("this is no cursor")
    return StringPlace(int(parsed[1]), *_place_of(parsed[2]))


def _place_of(cursor: str) -> tuple[str, int]:
    parsed = _CURSOR.fullmatch(cursor)
    if parsed is None or int(parsed[1]) > 2**63 - 1:
        raise CursorInvalidError("this is no cursor")
    try:
        padded = parsed[2] + "=" * (-len(parsed[2]) % 4)
        pointer = base64.urlsafe_b64decode(padded).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise CursorInvalidError("this is no cursor") from error
    if "\0" in pointer:
        raise CursorInvalidError("this is no cursor")
    return pointer, int(parsed[1])
