"""Lists the strings of a table that a caller sees, in document order, and reads their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context_search.core.documents import strings_at
from context_search.core.errors import DocumentTooLargeError
from context_search.core.json_pointer import contains, document_order
from context_search.core.model import SearchTool
from context_search.reading.document import read_document
from context_search.reading.rules.narrowing import Narrowing
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.store import UnitOfWork

BATCH_CHARS = 1 << 20
_BATCH_STRINGS = 1 << 12
_FIRST_NARROWED, _MOST_NARROWED = 8, 256
"""Number of batches of text that are narrowed at once: first, and then."""


class ListedString(NamedTuple):
    """A string that a caller sees, and the first tool that shows it.

    Its text is that of the index's node, or of the document, which was read.
    """

    json_pointer: str
    length: int
    tool: SearchTool
    node_id: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TableListing:
    """The strings of a table at a revision, in document order.

    ``is_unread``: its document is too large to be read while it is indexed.
    """

    id: int
    revision: int
    strings: Sequence[ListedString] = ()
    is_unread: bool = False


class TextBatch(NamedTuple):
    """Strings with their texts. ``end``: so many of the list were looked at with it."""

    strings: Sequence[ListedString]
    texts: Sequence[str]
    end: int


def listed_table(
    work: UnitOfWork, table_id: int, tools: Sequence[SearchTool]
) -> TableListing | None:
    """Returns what some tools of a table show; None when it is gone.

    Where an index does not know the document as it is now, the document decides. Everything is
    read in one transaction, of one moment.
    """
    known: dict[str, ListedString] = {}
    revision = 0
    for tool in _distinct(tools):
        seen = work.seen_strings.nodes(tool)
        if seen is None:
            return None
        if seen.nodes is None:
            return _of_document(work, table_id, tools)
        revision = seen.revision
        for node_id, pointer, length in seen.nodes:
            if pointer not in known:
                known[pointer] = ListedString(pointer, length, tool, node_id)
    strings = sorted(known.values(), key=lambda each: document_order(each.json_pointer))
    return TableListing(table_id, revision, strings)


def _distinct(tools: Sequence[SearchTool]) -> list[SearchTool]:
    """Returns the tools without those that show nothing which one before them does not show."""
    distinct: list[SearchTool] = []
    for tool in tools:
        if not any(_shows_all_of(before, tool) for before in distinct):
            distinct.append(tool)
    return distinct


def _shows_all_of(tool: SearchTool, other: SearchTool) -> bool:
    return (
        tool.index_id == other.index_id
        and tool.search.where in (None, other.search.where)
        and contains(tool.scope.json_pointer, other.scope.json_pointer)
    )


def _of_document(
    work: UnitOfWork, table_id: int, tools: Sequence[SearchTool]
) -> TableListing | None:
    try:
        read = read_document(work, table_id)
    except DocumentTooLargeError:
        return TableListing(table_id, 0, is_unread=True)
    if read is None:
        return None
    visible = [(tool, VisibleStrings([tool]).in_document(table_id, read.value)) for tool in tools]
    strings = []
    for string in strings_at(read.value, {tool.scope.json_pointer for tool in tools}):
        pointer, text = string.json_pointer, string.text
        tool = next((tool for tool, shown in visible if shown.shows(pointer, text)), None)
        if tool is not None:
            strings.append(ListedString(pointer, len(text), tool, 0, text))
    return TableListing(table_id, read.revision, strings)


@dataclass(frozen=True, slots=True)
class ReadBatches:
    """Reads the texts of a list in its order, about ``batch_chars`` characters at a time.

    Without those in which nothing of ``narrowing`` stands, which is asked for more of them each
    time.
    """

    work: UnitOfWork
    strings: Sequence[ListedString]
    narrowing: Narrowing | None
    batch_chars: int = BATCH_CHARS

    def after(self, start: int) -> Iterator[TextBatch]:
        """Yields batches from a place of the list on.

        A batch may be empty, so that the caller can check the time. The first one that is narrowed
        is small: a page may be full then.
        """
        batches, most = (1, 1) if self.narrowing is None else (_FIRST_NARROWED, _MOST_NARROWED)
        while start < len(self.strings):
            end = self._end(start, batches * self.batch_chars)
            yield from self._batches(start, end)
            batches, start = most, end

    def _end(self, start: int, most: int) -> int:
        """Returns where a batch ends: it has one string, or strings of so many characters."""
        chars, end = 0, start
        while end < len(self.strings) and (end == start or chars < most):
            chars += self.strings[end].length
            end += 1
        return end

    def _batches(self, start: int, end: int) -> Iterator[TextBatch]:
        wanted = self._holding(self.strings[start:end])
        batch: list[ListedString] = []
        chars = 0
        for at in range(start, end):
            string = self.strings[at]
            if string.text is None and string.node_id not in wanted:
                continue
            batch.append(string)
            chars += string.length
            if chars >= self.batch_chars or len(batch) == _BATCH_STRINGS:
                yield self._read(batch, at + 1)
                batch, chars = [], 0
        yield self._read(batch, end)

    def _holding(self, strings: Sequence[ListedString]) -> set[int]:
        ids = [string.node_id for string in strings if string.text is None]
        if self.narrowing is None or not ids:
            return set(ids)
        return set(self.work.seen_strings.holding(ids, self.narrowing))

    def _read(self, batch: Sequence[ListedString], end: int) -> TextBatch:
        ids = [string.node_id for string in batch if string.text is None]
        texts = self.work.seen_strings.texts(ids) if ids else {}
        found = [
            (string, texts.get(string.node_id) if string.text is None else string.text)
            for string in batch
        ]
        there = [(string, text) for string, text in found if text is not None]
        return TextBatch([each for each, _ in there], [text for _, text in there], end)
