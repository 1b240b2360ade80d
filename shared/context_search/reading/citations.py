"""Follows cites: where the cited text stands now, and what it was."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.access.lookup import live_table
from context_search.catalog.versions import find_version, text_of
from context_search.core.callers import Principal
from context_search.core.cites import Cite, CiteStatus
from context_search.core.documents import parse_fielded, strings_at
from context_search.core.errors import ContextSearchError, NotFoundError
from context_search.core.json_pointer import resolve, split
from context_search.reading.document import read_document
from context_search.reading.rules.moved import nearest
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.reading.seen_text import SeenWindow, seen_window
from context_search.reading.shown import MARGIN, ShownWindow
from context_search.reading.visible import visible_to
from context_search.store import UnitOfWork

MOVED_CHARS = 100_000
"""Number of characters before and behind its old place among which a moved text is looked for."""
MIN_WAS_CHARS = 64
"""Minimum length of a cited text that is shown as it was: a shorter one could be guessed."""
MAX_WAS_CHARS = 5_000
MAX_WAS_BYTES = 10_000_000
"""Maximum size of a version that is read for a text that has changed."""


@dataclass(frozen=True, slots=True)
class FollowedCite:
    """What became of cited text. ``json_pointer`` None: it is gone.

    ``start`` and ``end`` are where it stands; of a changed text where it stood, as far as the
    string reaches. ``was``: the cited text, up to MAX_WAS_CHARS of it, where it has changed and a
    version has it.
    """

    status: CiteStatus
    table_id: int
    json_pointer: str | None = None
    start: int = 0
    end: int = 0
    was: str | None = None


def follow(work: UnitOfWork, principal: Principal, cite: Cite) -> FollowedCite:
    """Returns what became of a cited text. The transaction reads all of one moment.

    Raises NotFoundError for a table in which the caller sees nothing; a foreign one looks like a
    missing one, and in a table a hidden string looks like one that is gone.
    """
    visible = visible_to(work, principal, table_id=cite.table_id)
    if not visible.tools:
        raise NotFoundError("there is no such citation")
    return _Following(work, principal, visible, cite).followed()


@dataclass(frozen=True, slots=True)
class _Following:
    work: UnitOfWork
    principal: Principal
    visible: VisibleStrings
    cite: Cite

    def followed(self) -> FollowedCite:
        for pointer in self._pointers():
            seen = self._window(pointer)
            if seen is not None:
                return self._in_string(pointer, seen)
        return FollowedCite("gone", self.cite.table_id)

    def _pointers(self) -> list[str]:
        """Returns the pointers that the cite may mean: of the index, else of the document."""
        cite, tools = self.cite, self.visible.tools
        indexes = sorted({tool.index_id for tool in tools})
        found = self.work.seen_strings.pointers(indexes, cite.table_id, cite.pointer)
        if found or all(self.work.seen_strings.knows(tool) for tool in tools):
            return found
        document = read_document(self.work, cite.table_id)
        strings = strings_at(document.value if document else None, [""])
        return [each.json_pointer for each in strings if cite.is_at(each.json_pointer)]

    @property
    def _length(self) -> int:
        return self.cite.end - self.cite.start

    def _window(self, pointer: str) -> SeenWindow | None:
        begin = max(0, self.cite.start - MOVED_CHARS - MARGIN)
        behind = self.cite.end + MOVED_CHARS + MARGIN
        place = self.cite.table_id, pointer
        return seen_window(self.work, self.visible, *place, start=begin, length=behind - begin)

    def _in_string(self, pointer: str, seen: SeenWindow) -> FollowedCite:
        window, start = seen.window, self.cite.start
        place = self.cite.table_id, pointer
        at = self._place(seen)
        if at is None:
            begin = min(start, window.total)
            end = min(begin + self._length, window.total)
            return FollowedCite("changed", *place, begin, end, self._was(pointer))
        status: CiteStatus = "current" if at == start else "moved"
        return FollowedCite(status, *place, at, at + self._length)

    def _place(self, seen: SeenWindow) -> int | None:
        """Returns where the cited text stands; None: it does not stand there any more."""
        window, cite = seen.window, self.cite
        if cite.end > window.total and cite.revision == window.revision:
            return None
        if not cite.digest:
            return cite.start if cite.revision == window.revision else None
        shown = ShownWindow.to(self.work, self.principal, window)

        def stands_in(shown: ShownWindow, at: int) -> bool:
            return cite.is_of(shown.text(at, at + self._length))

        if cite.end <= window.end and not self.principal.redacts:
            if stands_in(shown, cite.start):
                return cite.start
            # It may be the cite of an agent from whom something in the text is hidden.
            hidden = ShownWindow.redacted(self.work, self.principal, window)
            if stands_in(hidden, cite.start):
                return cite.start
        first, last = max(window.start, cite.start - MOVED_CHARS), window.end - self._length
        last = min(last, cite.start + MOVED_CHARS)
        return nearest(first, last, cite.start, self._length, lambda at: stands_in(shown, at))

    def _was(self, pointer: str) -> str | None:
        """Returns the cited text as the version of its revision has it.

        Not of a string that the caller would not have seen then, and nothing that is short enough
        to be guessed, character by character.
        """
        cite = self.cite
        if not cite.digest or self._length < MIN_WAS_CHARS or self.principal.redacts:
            return None
        try:
            table = live_table(self.work, self.principal, cite.table_id)
            version = find_version(self.work, table, cite.revision)
            text = text_of(self.work, table, version, max_bytes=MAX_WAS_BYTES)
            document = parse_fielded(text)
            value = resolve(document, split(pointer))
        except (ContextSearchError, KeyError):  # not recorded, erased, too large or not there
            return None
        seen = self.visible.in_document(cite.table_id, document)
        if not isinstance(value, str) or not seen.shows(pointer, value):
            return None
        old = value[cite.start : cite.end]
        return old[:MAX_WAS_CHARS] if cite.is_of(old) else None
