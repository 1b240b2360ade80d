"""Follows cites: where the cited text stands now, and what it was."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.access.lookup import live_table
from context_search.catalog.rules.outlines import TextWindow
from context_search.catalog.versions import find_version, text_of
from context_search.core.callers import Principal
from context_search.core.cites import Cite, CiteStatus
from context_search.core.documents import parse_stored
from context_search.core.errors import ContextSearchError, NotFoundError
from context_search.core.json_pointer import resolve, split
from context_search.reading.rules.moved import nearest, nearest_of
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.reading.seen_text import SeenWindow, seen_window
from context_search.reading.visible import visible_to
from context_search.store import UnitOfWork

MOVED_CHARS = 100_000
"""Number of characters before and behind its old place among which a moved text is looked for."""
MAX_WAS_BYTES = 10_000_000
"""Maximum size of a version that is read for a text that has changed."""


@dataclass(frozen=True, slots=True)
class FollowedCite:
    """What became of cited text. ``json_pointer`` None: it is gone.

    ``start`` and ``end`` are where it stands at ``revision``; of a changed text where it stood, as
    far as the string reaches. ``was``: the cited text, where it has changed and a version has it.
    """

    status: CiteStatus
    table_id: int
    json_pointer: str | None = None
    revision: int = 0
    start: int = 0
    end: int = 0
    was: str | None = None


def follow(work: UnitOfWork, principal: Principal, cite: Cite) -> FollowedCite:
    """Returns what became of a cited text.

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
                return self._in_string(pointer, seen.window)
        return FollowedCite("gone", self.cite.table_id)

    def _pointers(self) -> list[str]:
        indexes = sorted({tool.index_id for tool in self.visible.tools})
        return self.work.seen_strings.pointers(indexes, self.cite.table_id, self.cite.pointer)

    def _window(self, pointer: str) -> SeenWindow | None:
        begin = max(0, self.cite.start - MOVED_CHARS)
        behind = self.cite.start + self._length + MOVED_CHARS
        table_id = self.cite.table_id
        return seen_window(
            self.work, self.visible, table_id, pointer, start=begin, length=behind - begin
        )

    @property
    def _length(self) -> int:
        return self.cite.end - self.cite.start

    def _in_string(self, pointer: str, window: TextWindow) -> FollowedCite:
        text, start, length = window.text or "", self.cite.start, self._length
        place = self.cite.table_id, pointer, window.revision
        old = self._old_text(pointer, window)
        at: int | None
        if old is None and not self._has_proof:
            at = start if self.cite.revision == window.revision else None
        elif old is None:
            at = nearest(text, window.start, length, start, self.cite.is_of)
        else:
            at = nearest_of(text, window.start, old, start)
        if at is None:
            begin = min(start, window.total)
            end = min(begin + length, window.total)
            was = old if self._has_proof else None
            return FollowedCite("changed", *place, begin, end, was)
        status: CiteStatus = "current" if at == start else "moved"
        end = min(at + length, window.total)
        return FollowedCite(status, *place, at, end)

    @property
    def _has_proof(self) -> bool:
        """Whether the digest counts: who may not see all of a text could try guesses with it."""
        return bool(self.cite.digest) and not self.principal.redacts

    def _old_text(self, pointer: str, window: TextWindow) -> str | None:
        """Returns the cited text as a version has it; None where it stands as it was, too."""
        begin = self.cite.start - window.start
        here = (window.text or "")[begin : begin + self._length]
        is_here = self.cite.is_of(here) if self._has_proof else False
        if is_here or self.cite.revision == window.revision:
            return None
        try:
            table = live_table(self.work, self.principal, self.cite.table_id)
            version = find_version(self.work, table, self.cite.revision)
            document = text_of(self.work, table, version, max_bytes=MAX_WAS_BYTES)
            value = resolve(parse_stored(document), split(pointer))
        except (ContextSearchError, KeyError):  # not recorded, erased, too large or not there
            return None
        if not isinstance(value, str):
            return None
        old = value[self.cite.start : self.cite.start + self._length]
        is_cited = self.cite.is_of(old) if self._has_proof else len(old) == self._length
        return old if is_cited else None
