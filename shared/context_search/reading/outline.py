"""What there is to read: the collections of a caller, and the children of a place in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from context_search.agents.list_tools import ListTools, NamedTool
from context_search.core.callers import McpKey, Principal
from context_search.core.documents import parse_fielded
from context_search.core.errors import InvalidInputError, NotFoundError
from context_search.core.json_pointer import join, resolve, split
from context_search.core.model import SearchTool
from context_search.integrations.ports import Clock
from context_search.reading.rules.outlines import (
    Described,
    DescribedPlace,
    SeenPlace,
    described_in,
    lies_in,
    seen_in_document,
)
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.searching.retrieve import RedactHits
from context_search.store import Store, UnitOfWork
from context_search.text.redaction import excerpt_of
from context_search.text.sensitive.kinds import SensitiveKind
from context_search.text.sensitive.spans import ReadText

TITLE_CHARS = 120
"""Maximum length of a title that is shown."""
MARGIN_CHARS = 8_704
"""Number of characters that are read behind a title, where something sensitive may go on."""
COUNTED_WITHIN_S = 1.0
"""Seconds in which the strings of collections are counted; those that are left have no number."""
NAMES_TOLD = 20
Kind = Literal["object", "array", "string"]


@dataclass(frozen=True, slots=True)
class Collection:
    """A Search Tool under its agents' name. ``strings`` None: nobody has counted them."""

    name: str
    tool: SearchTool
    strings: int | None


@dataclass(frozen=True, slots=True)
class Collections:
    """A page of collections, and the id of the tool to go on after."""

    rows: Sequence[Collection]
    next_after: int | None


@dataclass(frozen=True, slots=True)
class OutlinedPlace:
    """A place, or a child of one, with something to read.

    ``length``: characters of a string, of others how many children have something to read.
    ``strings``: how many can be read at or below it.
    """

    key: str
    pointer: str
    type: Kind
    title: str | None
    length: int
    strings: int


@dataclass(frozen=True, slots=True)
class OutlinedCollection:
    """A place of a collection with a page of its children, those behind the first ``after``."""

    collection: str
    table_id: int
    place: OutlinedPlace
    after: int
    children: Sequence[OutlinedPlace]


@dataclass(frozen=True, slots=True)
class Outlines:
    """Lists exactly what searches of a caller can return, and what stands around it."""

    store: Store
    list_tools: ListTools
    redaction: RedactHits
    clock: Clock

    def collections(self, principal: Principal, *, after: int, limit: int) -> Collections:
        """Returns the collections behind a tool's id, in the order of ids."""
        tools, next_after = self.list_tools.page(principal, after=after, limit=limit)
        ends = self.clock.monotonic() + COUNTED_WITHIN_S
        with self.store.for_project(principal.project_id) as work:
            rows = [
                Collection(
                    name=each.name,
                    tool=each.tool,
                    strings=work.seen_strings.count(each.tool)
                    if self.clock.monotonic() < ends
                    else None,
                )
                for each in tools
            ]
        return Collections(rows, next_after)

    def place(
        self, principal: Principal, name: str, pointer: str | None, *, after: int, limit: int
    ) -> OutlinedCollection:
        """Returns a place of a collection, by itself its scope, with a page of its children.

        Raises InvalidInputError for an unknown collection, InvalidPointerError, and NotFoundError
        for a place that is not there, or has nothing to read.
        """
        tool = self._tool(principal, name)
        at = tool.scope.json_pointer if pointer is None else pointer
        if not lies_in(tool.scope.json_pointer, at):
            raise _nothing_there()
        redacts = isinstance(principal, McpKey) and principal.redacts
        kinds = self.redaction.kinds(principal.project_id) if redacts else ()
        chars = TITLE_CHARS + MARGIN_CHARS if redacts else TITLE_CHARS
        with self.store.for_project(principal.project_id) as work:
            seen, described = _seen(work, tool, at, after=after, limit=limit, chars=chars)

        def title(of: Described, *, may_show: bool) -> str | None:
            shown = may_show or tool.search.where is None
            return _redacted(of.title, kinds) if shown and of.title else None

        return _outlined(name, tool, at, seen, described, title, after)

    def _tool(self, principal: Principal, name: str) -> SearchTool:
        tool = self.list_tools.find(principal, name)
        if tool is None:
            known, _ = self.list_tools.page(principal, limit=NAMES_TOLD)
            names = ", ".join(each.name for each in known)
            raise InvalidInputError(f"there is no such collection; there are: {names}")
        return tool


def _nothing_there() -> NotFoundError:
    """One error for what is missing, hidden, or outside of the scope."""
    return NotFoundError("the collection has nothing to read at this pointer")


def _seen(
    work: UnitOfWork, tool: SearchTool, pointer: str, *, after: int, limit: int, chars: int
) -> tuple[SeenPlace, DescribedPlace]:
    """Returns what is visible, and what the document says of it, both of one revision."""
    found = work.seen_strings.children(tool, pointer, after=after, limit=limit)
    if found is None:
        raise _nothing_there()
    if found.is_known:
        if found.place is None:
            raise _nothing_there()
        keys = [key for child in found.place.page for key in split(f"/{child.token}")]
        table_id = tool.scope.table_id
        described = work.seen_strings.described(table_id, pointer, keys, chars=chars)
        if described is not None and described.revision == found.revision:
            return found.place, described
    return _in_document(work, tool, pointer, after=after, limit=limit, chars=chars)


def _in_document(
    work: UnitOfWork, tool: SearchTool, pointer: str, *, after: int, limit: int, chars: int
) -> tuple[SeenPlace, DescribedPlace]:
    revision, text = work.tables.read(tool.scope.table_id)
    document = parse_fielded(text)
    visible = VisibleStrings([tool]).in_document(tool.scope.table_id, document)
    seen = seen_in_document(visible, pointer, after=after, limit=limit)
    if seen is None:
        raise _nothing_there()
    value = resolve(document, split(pointer))
    children = [
        described_in(resolve(value, split(f"/{child.token}")), chars=chars) for child in seen.page
    ]
    return seen, DescribedPlace(revision, described_in(value, chars=chars), children)


def _outlined(
    name: str,
    tool: SearchTool,
    pointer: str,
    seen: SeenPlace,
    described: DescribedPlace,
    title: Callable[..., str | None],
    after: int,
) -> OutlinedCollection:
    place = OutlinedPlace(
        key=(split(pointer) or [""])[-1],
        pointer=pointer,
        type=described.place.kind,
        title=title(described.place, may_show=seen.names_itself),
        length=seen.children if seen.length is None else seen.length,
        strings=seen.strings,
    )
    children = [
        OutlinedPlace(
            key=split(f"/{child.token}")[0],
            pointer=f"{pointer}/{child.token}",
            type=of.kind,
            title=title(of, may_show=child.names_itself),
            length=child.children if child.length is None else child.length,
            strings=child.strings,
        )
        for child, of in zip(seen.page, described.children, strict=True)
    ]
    return OutlinedCollection(name, tool.scope.table_id, place, after, children)


def _redacted(title: str, kinds: Sequence[SensitiveKind]) -> str:
    """Returns the beginning of a title that was read with a margin, without what is sensitive."""
    end = min(len(title), TITLE_CHARS)
    is_whole = len(title) < TITLE_CHARS + MARGIN_CHARS
    read = ReadText(title, 0, end, is_first=True, is_last=is_whole, has_keys="key" in kinds)
    return excerpt_of(read, 0, kinds).show(0, end).text
