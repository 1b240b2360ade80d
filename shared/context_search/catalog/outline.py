"""Documents of any size, piece by piece: the children of a place, a window of a string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from context_search.access.lookup import index_of, live_table, live_tool
from context_search.catalog.rules.outlines import Children, ChildValue, TextWindow
from context_search.core.callers import Principal
from context_search.core.errors import DocumentTooLargeError, NotAStringError, NotFoundError
from context_search.core.json_pointer import escape, split
from context_search.core.model import Index
from context_search.indexing.rules.large_strings import LargeString, StringsBelow
from context_search.store import UnitOfWork

MAX_CHILDREN = 200
"""Maximum number of children on a page."""
LOOKED_AT = 1_000
"""Maximum number of children that a request looks at for those that are wanted."""
MOST_COUNTED = 100
"""Maximum number of strings that are counted below a child."""
_PAGE_CHARS = 500_000
"""Of keys and pointers: an answer has 6 MB, and a character takes up to six bytes as JSON."""
_LOOKED_AT_CHARS = 2_000_000
"""Of keys and pointers that a request looks at; a key or a pointer may have 100,000 by itself."""
Only = Literal["large", "problem"]


@dataclass(frozen=True, slots=True)
class ChildrenQuery:
    """Which children of a place: from a position on, ``only`` those with strings of an index.

    ``large``: at or below it. ``problem``: such as nobody will take up. ``tool_id``: whose index.
    """

    pointer: str = ""
    after: int = 0
    limit: int = MAX_CHILDREN
    only: Only | None = None
    part_of_key: str | None = None
    tool_id: int | None = None


@dataclass(frozen=True, slots=True)
class OutlinedChild:
    """A child with what an index has of it: counts to MOST_COUNTED, and itself as a string."""

    value: ChildValue
    json_pointer: str
    below: StringsBelow | None
    string: LargeString | None


@dataclass(frozen=True, slots=True)
class Outline:
    """A place of a document, without the values below it.

    ``index``: whose strings are counted, that of ``tool_id`` or of the project; None: nobody's.
    """

    value: Children
    index: Literal["tool", "project"] | None
    tool_id: int | None
    children: Sequence[OutlinedChild]
    next_after: int | None


def text_window(
    work: UnitOfWork, principal: Principal, table_id: int, pointer: str, *, start: int, end: int
) -> TextWindow:
    """Returns characters ``start`` to ``end`` of a string, as far as it has them.

    Raises NotFoundError, InvalidPointerError and NotAStringError.
    """
    path = split(pointer)
    live_table(work, principal, table_id)
    window = work.tables.window(table_id, path, start=start, length=end - start)
    if window is None:
        raise NotFoundError("the pointer leads nowhere in this table")
    if window.text is None:
        raise NotAStringError("the value at the pointer is no string")
    return window


def outline(
    work: UnitOfWork, principal: Principal, table_id: int, wanted: ChildrenQuery
) -> Outline:
    """Returns a page of what is directly below a place; with a filter it may be short.

    Raises NotFoundError, InvalidPointerError, and DocumentTooLargeError for a key that fits into
    no answer.
    """
    path = split(wanted.pointer)
    live_table(work, principal, table_id)
    tool_id, index = _index_for(work, principal, table_id, wanted.tool_id)
    most_chars = _LOOKED_AT_CHARS if wanted.only else _PAGE_CHARS
    # Every child's pointer begins with that of the place.
    most = max(1, most_chars // (len(wanted.pointer) + 1))
    found = work.tables.children(
        table_id,
        path,
        after=wanted.after,
        limit=min(LOOKED_AT if wanted.only else wanted.limit, most),
        most_chars=most_chars,
        part_of_key=wanted.part_of_key,
    )
    if found is None:
        raise NotFoundError("the pointer leads nowhere in this table")
    children, next_after = _page(work, index, table_id, wanted, found)
    outlined = _outlined(work, index, table_id, wanted.pointer, children)
    whose: Literal["tool", "project"] = "project" if tool_id is None else "tool"
    return Outline(found, None if index is None else whose, tool_id, outlined, next_after)


def _index_for(
    work: UnitOfWork, principal: Principal, table_id: int, tool_id: int | None
) -> tuple[int | None, Index | None]:
    """Returns the tool that is named, or the table's first, and its index; else the project's."""
    if tool_id is not None:
        tool = live_tool(work, tool_id, principal)
        if tool.scope.table_id != table_id:
            raise NotFoundError("there is no such tool of this table")
        return tool.id, index_of(work, tool)
    tools = work.tools.page(principal.project_id, table_id=table_id, after=0, limit=1)
    if tools:
        return tools[0].id, index_of(work, tools[0])
    return None, work.indexes.of_project(principal.project_id)


def _page(
    work: UnitOfWork, index: Index | None, table_id: int, wanted: ChildrenQuery, found: Children
) -> tuple[Sequence[ChildValue], int | None]:
    """Returns the children that are wanted and fit, and the position to go on from."""
    chosen = found.children
    if wanted.only is not None:
        chosen = _only(work, index, table_id, wanted, found.children)
    chars = accumulate(len(wanted.pointer) + 2 * len(child.key) for child in chosen)
    fitting = [c for c, upto in zip(chosen, chars, strict=True) if upto <= _PAGE_CHARS]
    if chosen and not fitting:
        raise DocumentTooLargeError("a key at this place is too long for an answer")
    shown = fitting[: wanted.limit]
    if len(shown) < len(chosen):
        return shown, chosen[len(shown)].position
    return shown, found.next_after


def _only(
    work: UnitOfWork,
    index: Index | None,
    table_id: int,
    wanted: ChildrenQuery,
    children: Sequence[ChildValue],
) -> Sequence[ChildValue]:
    if index is None:
        return []
    pointers = [_pointer_of(wanted.pointer, child) for child in children]
    counts = work.large_strings.below(index, table_id, pointers, most=1)
    return [
        child
        for child, count in zip(children, counts, strict=True)
        if (count.problems if wanted.only == "problem" else count.large)
    ]


def _outlined(
    work: UnitOfWork,
    index: Index | None,
    table_id: int,
    pointer: str,
    children: Sequence[ChildValue],
) -> list[OutlinedChild]:
    pointers = [_pointer_of(pointer, child) for child in children]
    if index is None:
        pairs = zip(children, pointers, strict=True)
        return [OutlinedChild(child, at, None, None) for child, at in pairs]
    counts = work.large_strings.below(index, table_id, pointers, most=MOST_COUNTED)
    strings = work.large_strings.at(
        index,
        table_id,
        [at for child, at in zip(children, pointers, strict=True) if child.kind == "string"],
    )
    return [
        OutlinedChild(child, at, count, strings.get(at))
        for child, at, count in zip(children, pointers, counts, strict=True)
    ]


def _pointer_of(pointer: str, child: ChildValue) -> str:
    return f"{pointer}/{escape(child.key)}"
