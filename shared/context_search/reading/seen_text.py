"""Characters of a string that a caller sees, as the document has them now."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.rules.outlines import TextWindow
from context_search.core.json_pointer import split
from context_search.core.model import SearchTool
from context_search.reading.document import read_document
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.store import UnitOfWork


@dataclass(frozen=True, slots=True)
class SeenWindow:
    """Characters of a string, and a tool whose searches can return it."""

    window: TextWindow
    tool: SearchTool


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

    A string that is not there looks like one that nobody may see. The transaction reads all of one
    moment. Raises DocumentTooLargeError where the document decides, and is too large.
    """
    if not visible.covers(table_id, json_pointer):
        return None
    window = work.tables.window(table_id, split(json_pointer), start=start, length=length)
    if window is None or window.text is None:
        return None
    for tool in visible.near(table_id, json_pointer, window.total):
        if tool.search.where is None or _passes(work, tool, json_pointer, window.total):
            return SeenWindow(window, tool)
    return None


def _passes(work: UnitOfWork, tool: SearchTool, json_pointer: str, length: int) -> bool:
    """Says whether a string passes a ``where``: as the index knows it, else by the document."""
    known = work.seen_strings.returns(tool, json_pointer)
    if known is not None:
        return known
    document = read_document(work, tool.scope.table_id)
    if document is None:
        return False
    seen = VisibleStrings([tool]).in_document(tool.scope.table_id, document.value)
    return seen.shows_at(json_pointer, length)
