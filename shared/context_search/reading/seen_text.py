"""Characters of a string that a caller sees, as the document has them now."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.rules.outlines import TextWindow
from context_search.core.documents import content_hash, parse_fielded
from context_search.core.errors import InvalidDocumentError
from context_search.core.json_pointer import resolve, split
from context_search.core.model import SearchTool
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.store import UnitOfWork


@dataclass(frozen=True, slots=True)
class SeenWindow:
    """Characters of a string, and a tool whose searches can return it."""

    window: TextWindow
    tool: SearchTool

    @property
    def text(self) -> str:
        """Returns the characters."""
        return self.window.text or ""


def seen_window(
    work: UnitOfWork,
    visible: VisibleStrings,
    table_id: int,
    json_pointer: str,
    *,
    start: int,
    length: int,
) -> SeenWindow | None:
    """Returns so many characters of a string, as far as it has them; None where it is not seen.

    A string that is not there looks like one that nobody may see.
    """
    if not visible.covers(table_id, json_pointer):
        return None
    window = work.tables.window(table_id, split(json_pointer), start=start, length=length)
    if window is None or window.text is None:
        return None
    read = _ReadOnce(work, table_id)
    tool = visible.first(table_id, json_pointer, window.total, read.document)
    if tool is None:
        return None
    if read.revision in (None, window.revision):
        return SeenWindow(window, tool)
    # Changed between the two statements: what was judged is what is shown.
    window = read.window(json_pointer, start, length)
    if window is not None:
        tool = visible.first(table_id, json_pointer, window.total, read.document)
    return SeenWindow(window, tool) if window and tool else None


@dataclass
class _ReadOnce:
    """The document of a table, read when it is first asked for."""

    work: UnitOfWork
    table_id: int
    revision: int | None = None
    _document: object = None

    def document(self) -> object:
        """Returns the document; null for one that cannot be read."""
        if self.revision is None:
            self.revision, text = self.work.tables.read(self.table_id)
            try:
                self._document = parse_fielded(text)
            except InvalidDocumentError:  # no index has it either
                self._document = None
        return self._document

    def window(self, json_pointer: str, start: int, length: int) -> TextWindow | None:
        """Returns characters of a string of the document that was read; None where none is."""
        try:
            text = resolve(self.document(), split(json_pointer))
        except KeyError:
            return None
        if not isinstance(text, str):
            return None
        first, revision = min(start, len(text)), self.revision or 0
        shown = text[first : first + length]
        last = first + len(shown)
        return TextWindow(revision, first, last, len(text), content_hash(text), shown)
