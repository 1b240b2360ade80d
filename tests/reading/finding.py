"""Finding text by walking documents: what the search for exact text is held against."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from context_search.agents.list_tools import ListTools
from context_search.core.callers import McpKey, Principal
from context_search.core.documents import parse_fielded, strings_at
from context_search.core.json_pointer import document_order
from context_search.core.model import Table
from context_search.integrations.patterns.ports import Patterns
from context_search.integrations.ports import Clock
from context_search.reading.find_text import FindText
from context_search.reading.listing import BATCH_CHARS
from context_search.reading.rules.found_text import FoundText, WantedMatches
from context_search.reading.visible import visible_to
from context_search.text.borders import Borders
from context_search.text.literals import Literal
from testing.in_memory.clock import ManualClock
from testing.in_memory.patterns import RePatterns
from tests.reading.library import Library

Place = tuple[int, str, int, int]
"""Table, pointer, start and end of a match."""


@dataclass
class Finder:
    """Finds text in a library."""

    library: Library
    clock: Clock = field(default_factory=ManualClock)
    patterns: Patterns = field(default_factory=RePatterns)
    batch_chars: int = BATCH_CHARS

    @property
    def use(self) -> FindText:
        """The use case."""
        store = self.library.store
        return FindText(store, ListTools(store), self.patterns, self.clock, self.batch_chars)

    def find(self, caller: Principal, text: str | None = None, **more: object) -> FoundText:
        """Returns a page."""
        return self.use.find(caller, WantedMatches(text, **more))  # type: ignore[arg-type]

    def all(self, caller: Principal, wanted: WantedMatches) -> list[FoundText]:
        """Returns all pages, each found with the cursor of the one before."""
        pages = [self.use.find(caller, wanted)]
        while (cursor := pages[-1].cursor) is not None:
            assert len(pages) < 1_000
            pages.append(self.use.find(caller, replace(wanted, cursor=str(cursor))))
        return pages

    def walked(self, caller: Principal, tables: list[Table], wanted: WantedMatches) -> list[Place]:
        """Returns what a walk through the documents finds."""
        places = _places(wanted)
        return [
            (table.id, pointer, start, end)
            for table in sorted(tables, key=lambda table: table.id)
            for pointer, text in self._strings(caller, table)
            for start, end in places(text)
        ]

    def _strings(self, caller: Principal, table: Table) -> list[tuple[str, str]]:
        work = self.library.bench.work
        document = parse_fielded(work.tables.read(table.id)[1])
        visible = visible_to(work, caller, table_id=table.id).in_document(table.id, document)
        shown = [
            (string.json_pointer, string.text)
            for string in strings_at(document, [""])
            if visible.shows(string.json_pointer, string.text)
        ]
        return sorted(shown, key=lambda each: document_order(each[0]))


def _places(wanted: WantedMatches) -> Callable[[str], Iterator[tuple[int, int]]]:
    def of_literal(text: str) -> Iterator[tuple[int, int]]:
        literal = Literal(wanted.text or "", case_sensitive=wanted.case_sensitive)
        for place in literal.places(text, Borders(text, whole_word=wanted.whole_word)):
            if not place.inside_character:
                yield place.start, place.end

    def of_pattern(text: str) -> Iterator[tuple[int, int]]:
        flags = re.MULTILINE | re.ASCII
        flags |= re.NOFLAG if wanted.case_sensitive else re.IGNORECASE
        borders = Borders(text, whole_word=wanted.whole_word)
        for match in re.finditer(wanted.pattern or "", text, flags):
            start, end = match.span()
            if start < end and borders.is_word(start, end) and borders.is_whole(start, end):
                yield start, end

    return of_pattern if wanted.text is None else of_literal


def places(*pages: FoundText) -> list[Place]:
    """Returns where the matches of pages are."""
    return [
        (match.table_id, match.json_pointer, match.start, match.end)
        for page in pages
        for match in page.matches
    ]


def redacting(agent: McpKey) -> McpKey:
    """Returns an agent that is shown nothing sensitive."""
    return replace(agent, redacts=True)
