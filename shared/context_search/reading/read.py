"""Reads on: the text around a cite, or from a place on, as the document has it now."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace

from context_search.agents.list_tools import ListTools
from context_search.core.callers import Principal
from context_search.core.cites import Cite
from context_search.core.documents import MAX_DEPTH
from context_search.core.errors import InvalidInputError, NotFoundError
from context_search.core.json_pointer import split
from context_search.integrations.ports import TokenCounter
from context_search.reading.citations import FollowedCite, follow
from context_search.reading.collections import name_of, named_collection
from context_search.reading.rules.texts import SeenText, WantedText
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.reading.seen_text import seen_window
from context_search.reading.shown import MARGIN, ShownWindow
from context_search.reading.urls import CitedPlace, place_urls
from context_search.reading.visible import visible_to
from context_search.store import Store, UnitOfWork

_NEXT_CHARS = 4_000
"""Maximum length of what ``next`` and ``previous`` cite."""


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """Reads texts for a caller. ``public_url``: where people open the console; empty: unknown."""

    store: Store
    tools: ListTools
    counter: TokenCounter
    public_url: str = ""

    def read(self, principal: Principal, wanted: WantedText) -> SeenText:
        """Returns the text around a cite or a place.

        Raises NotFoundError for what the caller does not see, InvalidInputError for an unknown
        collection, and InvalidPointerError.
        """
        if wanted.cite is not None:
            return self._cited(principal, wanted, wanted.cite)
        tool = named_collection(self.tools, principal, wanted.collection)
        table_id, start, visible = tool.scope.table_id, wanted.start, VisibleStrings([tool])
        is_deep = len(split(wanted.json_pointer)) > MAX_DEPTH
        if is_deep or not visible.covers(table_id, wanted.json_pointer):
            raise _not_there()
        place = FollowedCite("current", table_id, wanted.json_pointer, start=start, end=start)
        with self.store.for_project(principal.project_id) as work:
            work.seen_strings.stand_still()
            seen = self._around(work, principal, wanted, place, visible)
        if seen is None:
            raise _not_there()
        if wanted.start > seen.length:
            raise InvalidInputError(f"start: the string has {seen.length} characters")
        return seen

    def _cited(self, principal: Principal, wanted: WantedText, cite: Cite) -> SeenText:
        with self.store.for_project(principal.project_id) as work:
            work.seen_strings.stand_still()
            followed = follow(work, principal, cite)
            visible = visible_to(work, principal, table_id=cite.table_id)
            seen = self._around(work, principal, wanted, followed, visible)
        return seen or SeenText("gone", cite.table_id, cite)

    def _around(
        self,
        work: UnitOfWork,
        principal: Principal,
        wanted: WantedText,
        followed: FollowedCite,
        visible: VisibleStrings,
    ) -> SeenText | None:
        """Returns the text around a place; None where the caller sees no string there."""
        pointer, table_id = followed.json_pointer, followed.table_id
        begin = max(0, followed.start - wanted.before)
        behind = followed.end + wanted.after
        read_from = max(0, begin - MARGIN)
        if pointer is None:
            return None
        length = behind + MARGIN - read_from
        found = seen_window(work, visible, table_id, pointer, start=read_from, length=length)
        if found is None:
            return None
        window = found.window
        shown = ShownWindow.to(work, principal, window)
        inner = min(followed.start, window.total), min(followed.end, window.total)
        outer = min(begin, window.total), min(behind, window.total)
        start, end = _cut(outer, inner, lambda a, b: self._fits(shown.text(a, b), wanted))
        seen = SeenText(
            followed.status,
            table_id,
            shown.cite(table_id, pointer, start, end),
            shown.text(start, end),
            name_of(work, found.tool),
            pointer,
            window.revision,
            start,
            end,
            window.total,
            cited=inner,
            was=followed.was,
            is_cut=(start, end) != outer,
        )
        place = CitedPlace(seen.cite, pointer)
        [url] = place_urls(work, self.public_url, principal.project_id, [place])
        return replace(_with_neighbours(seen, shown), url=url)

    def _fits(self, text: str, wanted: WantedText) -> bool:
        size = len(json.dumps(text, ensure_ascii=False).encode())
        if wanted.max_bytes is not None and size > wanted.max_bytes:
            return False
        return wanted.max_tokens is None or self.counter.count(text) <= wanted.max_tokens


def _not_there() -> NotFoundError:
    return NotFoundError("no search here returns a string at this pointer")


def _cut(
    outer: tuple[int, int], inner: tuple[int, int], fits: Callable[[int, int], bool]
) -> tuple[int, int]:
    """Returns as much of ``outer`` as fits: what is cited first, then as far around as may be."""
    if fits(*outer):
        return outer
    (low, high), (start, end) = outer, inner
    if not fits(*inner):
        length = bisect_right(range(1, end - start), 0, key=lambda n: 1 - fits(start, start + n))
        return start, start + max(length, 1)
    widest = max(start - low, high - end)
    near = bisect_right(
        range(1, widest + 1), 0, key=lambda n: 1 - fits(max(low, start - n), min(high, end + n))
    )
    return max(low, start - near), min(high, end + near)


def _with_neighbours(seen: SeenText, shown: ShownWindow) -> SeenText:
    """Returns it with cites of what stands before and behind, where there is something."""
    window, size = shown.window, min(max(seen.end - seen.start, 1), _NEXT_CHARS)
    before = max(seen.start - size, window.start)
    behind = min(seen.end + size, window.end)
    table_id, pointer = seen.table_id, seen.json_pointer
    return replace(
        seen,
        previous=shown.cite(table_id, pointer, before, seen.start) if before < seen.start else None,
        next=shown.cite(table_id, pointer, seen.end, behind) if behind > seen.end else None,
    )
