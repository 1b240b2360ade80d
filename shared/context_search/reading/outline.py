"""What there is to read: the collections of a caller, and the children of a place in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.agents.list_tools import ListTools
from context_search.core.callers import Principal
from context_search.core.errors import NotFoundError
from context_search.core.json_pointer import contains, resolve, split
from context_search.core.model import SearchTool
from context_search.integrations.ports import Clock
from context_search.reading.collections import named_collection
from context_search.reading.document import read_document
from context_search.reading.hidden import hidden_kinds
from context_search.reading.passages import redacted_title
from context_search.reading.rules.outlines import (
    Collection,
    Collections,
    Described,
    DescribedPlace,
    OutlinedCollection,
    OutlinedPlace,
    SeenPlace,
    described_in,
    seen_in_document,
)
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.store import Store, UnitOfWork
from context_search.text.sensitive.kinds import SensitiveKind

TITLE_CHARS = 120
"""Maximum length of a title that is shown."""
COUNTED_WITHIN_S = 1.0
"""Seconds in which the strings of collections are counted; those that are left have no number."""


@dataclass(frozen=True, slots=True)
class Outlines:
    """Lists exactly what searches of a caller can return, and what stands around it."""

    store: Store
    tools: ListTools
    clock: Clock

    def collections(self, principal: Principal, *, after: int, limit: int) -> Collections:
        """Returns the collections behind a tool's id, in the order of ids."""
        named, next_after = self.tools.page(principal, after=after, limit=limit)
        ends = self.clock.monotonic() + COUNTED_WITHIN_S
        rows = []
        with self.store.for_project(principal.project_id) as work:
            for each in named:
                is_late = self.clock.monotonic() >= ends
                strings = None if is_late else work.seen_strings.count(each.tool)
                rows.append(Collection(each.name, each.tool, strings))
        return Collections(rows, next_after)

    def place(
        self, principal: Principal, name: str, pointer: str | None, *, after: int, limit: int
    ) -> OutlinedCollection:
        """Returns a place of a collection, by itself its scope, with a page of its children.

        Raises InvalidInputError for an unknown collection, InvalidPointerError, and NotFoundError
        for a place that is not there, or has nothing to read.
        """
        tool = named_collection(self.tools, principal, name)
        at = tool.scope.json_pointer if pointer is None else pointer
        split(at)
        if not contains(tool.scope.json_pointer, at):
            raise _nothing_there()
        with self.store.for_project(principal.project_id) as work:
            work.seen_strings.stand_still()
            seen, described = _seen(work, tool, at, after=after, limit=limit)
            titles = _Titles(tool, hidden_kinds(work, principal))
        return _outlined(name, tool, at, seen, described, titles, after)


def _nothing_there() -> NotFoundError:
    """One error for what is missing, hidden, or outside of the scope."""
    return NotFoundError("the collection has nothing to read at this pointer")


def _seen(
    work: UnitOfWork, tool: SearchTool, pointer: str, *, after: int, limit: int
) -> tuple[SeenPlace, DescribedPlace]:
    """Returns what is visible, and what the document says of it, both of one revision."""
    found = work.seen_strings.children(tool, pointer, after=after, limit=limit)
    if found is None or (found.is_known and found.place is None):
        raise _nothing_there()
    if found.place is not None:
        keys = [key for child in found.place.page for key in split(f"/{child.token}")]
        table_id = tool.scope.table_id
        described = work.seen_strings.described(table_id, pointer, keys, chars=TITLE_CHARS)
        if described is not None:
            return found.place, described
    return _in_document(work, tool, pointer, after=after, limit=limit)


def _in_document(
    work: UnitOfWork, tool: SearchTool, pointer: str, *, after: int, limit: int
) -> tuple[SeenPlace, DescribedPlace]:
    read = read_document(work, tool.scope.table_id)
    if read is None:
        raise _nothing_there()
    visible = VisibleStrings([tool]).in_document(tool.scope.table_id, read.value)
    seen = seen_in_document(visible, pointer, after=after, limit=limit)
    if seen is None:
        raise _nothing_there()
    value = resolve(read.value, split(pointer))
    children = [resolve(value, split(f"/{child.token}")) for child in seen.page]
    described = [described_in(each, chars=TITLE_CHARS) for each in children]
    return seen, DescribedPlace(read.revision, described_in(value, chars=TITLE_CHARS), described)


@dataclass(frozen=True, slots=True)
class _Titles:
    """What places of a collection may be called. ``kinds``: what is hidden in titles."""

    tool: SearchTool
    kinds: Sequence[SensitiveKind]

    def of(self, described: Described, *, names_itself: bool) -> str | None:
        """Returns the title of a place; None where the tool's ``where`` may hide it."""
        title = described.title
        if not title or not (names_itself or self.tool.search.where is None):
            return None
        return redacted_title(title, self.kinds, TITLE_CHARS)


def _outlined(
    name: str,
    tool: SearchTool,
    pointer: str,
    seen: SeenPlace,
    described: DescribedPlace,
    titles: _Titles,
    after: int,
) -> OutlinedCollection:
    place = OutlinedPlace(
        key=(split(pointer) or [""])[-1],
        pointer=pointer,
        type=described.place.kind,
        title=titles.of(described.place, names_itself=seen.names_itself),
        length=seen.children if seen.length is None else seen.length,
        strings=seen.strings,
    )
    children = [
        OutlinedPlace(
            key=split(f"/{child.token}")[0],
            pointer=f"{pointer}/{child.token}",
            type=of.kind,
            title=titles.of(of, names_itself=child.names_itself),
            length=child.children if child.length is None else child.length,
            strings=child.strings,
        )
        for child, of in zip(seen.page, described.children, strict=True)
    ]
    return OutlinedCollection(name, tool.scope.table_id, place, after, children)
