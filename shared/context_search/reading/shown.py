"""Characters of a string as a caller may see them."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.rules.outlines import TextWindow
from context_search.core.callers import Principal
from context_search.core.cites import MAX_CITED_CHARS, Cite
from context_search.reading.hidden import kinds_of_project
from context_search.searching.retrieve import EXTENT_CHARS, MARGIN_CHARS
from context_search.store import UnitOfWork
from context_search.text.redaction import Excerpt, excerpt_of
from context_search.text.sensitive.spans import ReadText

MARGIN = MARGIN_CHARS + EXTENT_CHARS
"""Number of characters around what is shown that are read, too: a secret may reach into it."""


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A window of a string; ``excerpt`` hides what is sensitive in it, None: nothing is hidden."""

    window: TextWindow
    excerpt: Excerpt | None

    @classmethod
    def to(cls, work: UnitOfWork, principal: Principal, window: TextWindow) -> ShownWindow:
        """Returns a window as a caller may see it."""
        return cls.redacted(work, principal, window) if principal.redacts else cls(window, None)

    @classmethod
    def redacted(cls, work: UnitOfWork, principal: Principal, window: TextWindow) -> ShownWindow:
        """Returns a window as callers see it who may not see keys and personal data."""
        kinds, text = kinds_of_project(work, principal.project_id), window.text or ""
        before = min(MARGIN, len(text)) if window.start else 0
        behind = min(MARGIN, len(text)) if window.end < window.total else 0
        read = ReadText(
            text,
            before,
            max(before, len(text) - behind),
            is_first=window.start == 0,
            is_last=window.end == window.total,
            has_keys="key" in kinds,
        )
        return cls(window, excerpt_of(read, window.start, kinds))

    def text(self, start: int, end: int) -> str:
        """Returns characters of the string, which must lie in the window."""
        if self.excerpt is not None:
            return self.excerpt.show(start, end).text
        begin = self.window.start
        return (self.window.text or "")[start - begin : end - begin]

    def cite(self, table_id: int, json_pointer: str, start: int, end: int) -> Cite:
        """Returns the cite of characters, as they are shown."""
        end = min(end, start + MAX_CITED_CHARS)
        place = table_id, json_pointer, self.window.revision
        return Cite.of(*place, start, self.text(start, end), end)
