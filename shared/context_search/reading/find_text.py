"""Finds exact text, or what a pattern matches, in the strings that a caller sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from context_search.agents.list_tools import ListTools
from context_search.core.callers import McpKey, Principal
from context_search.core.cites import Cite
from context_search.core.documents import check_string
from context_search.core.errors import (
    InvalidInputError,
    PatternTooSlowError,
    TooManyMatchesError,
)
from context_search.core.model import Index, SearchTool
from context_search.core.pages import PAGE
from context_search.integrations.patterns.ports import Patterns
from context_search.integrations.ports import Clock, Deadline
from context_search.reading.collections import name_of, named_collection
from context_search.reading.hidden import hidden_kinds
from context_search.reading.listing import (
    BATCH_CHARS,
    ListedString,
    ReadBatches,
    TableListing,
    listed_table,
)
from context_search.reading.matching import HiddenText, Matcher, TextMatches, matcher_of
from context_search.reading.rules.found_text import (
    MAX_MATCH_CHARS,
    MAX_TEXT_CHARS,
    FindCursor,
    FoundMatch,
    FoundText,
    WantedMatches,
    cursor_invalid,
)
from context_search.reading.visible import visible_to, whole_table
from context_search.store import Store, UnitOfWork
from context_search.text.sensitive.kinds import SensitiveKind

CALL_S = 5.0
"""For how long one call looks, in seconds; then a cursor goes on."""
COUNTING_S = 1.0
"""For how long it goes on behind a full page, to say how many matches there are."""
_LOOKS_AT_CLOCK = 1_024


@dataclass(frozen=True, slots=True)
class FindText:
    """Finds text for a caller: in Postgres, which has every string that is indexed."""

    store: Store
    tools: ListTools
    patterns: Patterns
    clock: Clock
    batch_chars: int = BATCH_CHARS

    def find(self, principal: Principal, wanted: WantedMatches) -> FoundText:
        """Returns a page of matches, in the order of tables and then of their documents.

        Raises InvalidInputError, also for an unknown collection, CursorInvalidError for a cursor
        whose question is another or whose string is gone, and what a pattern's engine raises.
        """
        _check(wanted)
        deadline = Deadline(self.clock, self.clock.monotonic() + CALL_S)
        cursor = None
        if wanted.cursor is not None:
            cursor = FindCursor.parse(wanted.cursor, wanted.digest)
        chosen = None
        if wanted.collection is not None:
            chosen = named_collection(self.tools, principal, wanted.collection)
        with (
            matcher_of(wanted, self.patterns) as matcher,
            self.store.for_project(principal.project_id) as work,
        ):
            work.seen_strings.stand_still()
            hidden = hidden_kinds(work, principal)
            page = _Page(wanted, deadline, cursor.before if cursor else 0)
            first = cursor.table_id if cursor else 0
            tables = _tables(work, principal, chosen, first)
            _Search(work, matcher, page, hidden, self.batch_chars).run(tables, cursor)
            return page.result()


def _check(wanted: WantedMatches) -> None:
    for name, sought in (("text", wanted.text), ("pattern", wanted.pattern)):
        if sought is not None and not 1 <= len(sought) <= MAX_TEXT_CHARS:
            raise InvalidInputError(f"{name} must have 1 to {MAX_TEXT_CHARS:,} characters")
        check_string(sought or "")


Tools = Sequence[SearchTool]


def _tables(
    work: UnitOfWork, principal: Principal, chosen: SearchTool | None, first: int
) -> Iterator[tuple[int, Tools]]:
    """Yields the tables that a caller sees from one on, by id, each with the tools that show it."""
    tools: dict[int, list[SearchTool]] = {}
    for tool in visible_to(work, principal).tools if chosen is None else [chosen]:
        if tool.scope.table_id >= first:
            tools.setdefault(tool.scope.table_id, []).append(tool)
    index = None
    if chosen is None and not isinstance(principal, McpKey):
        index = work.indexes.of_project(principal.project_id)
    if index is None:
        yield from sorted(tools.items())
        return
    for table_id in _all_tables(work, index, first):
        yield table_id, [*tools.get(table_id, ()), whole_table(index, table_id)]


def _all_tables(work: UnitOfWork, index: Index, first: int) -> Iterator[int]:
    after: int | None = max(first - 1, 0)
    while after is not None:
        page = work.tables.ids(index.project_id, after=after, limit=PAGE)
        yield from page
        after = page[-1] if len(page) == PAGE else None


@dataclass(slots=True)
class _Page:
    """The matches of one call so far. ``stopped``: where it went no further, as its time was up."""

    wanted: WantedMatches
    deadline: Deadline
    before: int
    matches: list[FoundMatch] = field(default_factory=list)
    counted: int = 0
    next: FindCursor | None = None
    stopped: FindCursor | None = None
    left_out: int = 0
    unread: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.matches) == self.wanted.limit

    @property
    def is_over(self) -> bool:
        return not self.deadline.left_s()

    def cursor_at(self, table_id: int, json_pointer: str | None, offset: int) -> FindCursor:
        before = self.before + len(self.matches)
        return FindCursor.at(table_id, json_pointer, offset, before, self.wanted.digest)

    def stop(self, table_id: int, json_pointer: str | None) -> None:
        """Ends the call before a string, or before a table."""
        if self.stopped is None:
            self.stopped = self.cursor_at(table_id, json_pointer, 0)

    def leave(self, table_id: int, json_pointer: str, offset: int) -> None:
        """Stops in a string when the time is up.

        If the page has room, the rest of the string is skipped and counted in ``left_out``.
        """
        if not self.is_full:
            self.left_out += 1
            return
        last = self.matches[-1]
        is_here = (last.table_id, last.json_pointer) == (table_id, json_pointer)
        self.stopped = self.cursor_at(table_id, json_pointer, last.end if is_here else offset)

    def add(self, match: FoundMatch) -> None:
        self.matches.append(match)
        self.counted += 1
        if self.is_full:
            clock = self.deadline.clock
            ends_at = min(self.deadline.ends_at, clock.monotonic() + COUNTING_S)
            self.deadline = Deadline(clock, ends_at)

    def count(self, table_id: int, json_pointer: str, start: int) -> None:
        """Counts a match behind the page."""
        self.counted += 1
        if self.next is None:
            self.next = self.cursor_at(table_id, json_pointer, start)

    def result(self) -> FoundText:
        return FoundText(
            self.matches,
            self.before,
            self.before + self.counted,
            self.stopped is None and not self.left_out and not self.unread,
            self.next or self.stopped,
            self.wanted.digest,
            self.left_out,
            self.unread,
        )


@dataclass(slots=True)
class _Search:
    """One call. ``hidden``: kinds of text of which nothing is shown, and nothing told.

    ``_is_spent``: the engine of patterns searches no further text.
    """

    work: UnitOfWork
    matcher: Matcher
    page: _Page
    hidden: Sequence[SensitiveKind]
    batch_chars: int
    _is_spent: bool = False
    _names: dict[int, str | None] = field(default_factory=dict)

    def run(self, tables: Iterator[tuple[int, Tools]], cursor: FindCursor | None) -> None:
        """Looks through tables in their order, from the place of a cursor on."""
        has_looked = False
        begins_in = None if cursor is None else cursor.table_id
        for table_id, tools in tables:
            if has_looked and (self.page.is_over or self._is_spent):
                return self.page.stop(table_id, None)
            table = listed_table(self.work, table_id, tools)
            if begins_in is not None and (table is None or table_id != begins_in):
                raise cursor_invalid()
            if table is not None:
                self._look_through(table, cursor if begins_in is not None else None)
                has_looked = True
            begins_in = None
            if self.page.stopped is not None:
                return None
        if begins_in is not None:
            raise cursor_invalid()
        return None

    def _look_through(self, table: TableListing, cursor: FindCursor | None) -> None:
        self.page.unread += table.is_unread
        start, offset = _place_in(table, cursor)
        # What is hidden must not decide what is read: that would be seen in the time it takes.
        narrowing = None if self.hidden else self.matcher.narrowing
        batches = ReadBatches(self.work, table.strings, narrowing, self.batch_chars)
        for batch in batches.after(start):
            looked = 0
            found = self._matches(batch.texts)
            for string, text, one in zip(batch.strings, batch.texts, found, strict=False):
                is_first = string is table.strings[start]
                self._take(table, string, text, *one, offset if is_first else 0)
                looked += 1
            if looked < len(batch.strings):
                return self.page.stop(table.id, batch.strings[looked].json_pointer)
            is_over = self.page.is_over or self._is_spent
            if is_over and batch.end < len(table.strings):
                return self.page.stop(table.id, table.strings[batch.end].json_pointer)
        return None

    def _matches(
        self, texts: Sequence[str]
    ) -> Iterator[tuple[TextMatches | None, HiddenText | None]]:
        """Yields what is in texts, and how they are shown where something is hidden.

        Until the time is up; behind the last one nothing is searched. None: the engine has given a
        text up, and searches no other one.
        """
        try:
            yield from self._hidden_matches(texts) if self.hidden else self._plain_matches(texts)
        except (PatternTooSlowError, TooManyMatchesError):
            self._is_spent = True
            yield None, None

    def _plain_matches(self, texts: Sequence[str]) -> Iterator[tuple[TextMatches, None]]:
        with closing(self.matcher.matches(texts)) as found:
            for matches in found:
                yield matches, None
                if self.page.is_over:
                    return

    def _hidden_matches(self, texts: Sequence[str]) -> Iterator[tuple[TextMatches, HiddenText]]:
        """Only the text without what is hidden is searched: an error would tell, too."""
        for text in texts:
            shown = HiddenText.of(text, self.hidden)
            [matches] = self.matcher.matches([shown.masked])
            yield matches, shown
            if self.page.is_over:
                return

    def _take(
        self,
        table: TableListing,
        string: ListedString,
        text: str,
        found: TextMatches | None,
        shown: HiddenText | None,
        offset: int,
    ) -> None:
        """Takes what stands in a string from an offset on."""
        page = self.page
        page.left_out += found is None or found.too_slow
        if found is None:
            return None
        for number, span in enumerate(found, 1):
            if number % _LOOKS_AT_CLOCK == 0 and page.is_over:
                return page.leave(table.id, string.json_pointer, offset)
            if span is None or span[0] < offset or (shown and shown.touches(*span)):
                continue
            if page.is_full:
                page.count(table.id, string.json_pointer, span[0])
            else:
                page.add(self._match(table, string, text, span, shown))
        return None

    def _match(
        self,
        table: TableListing,
        string: ListedString,
        text: str,
        span: tuple[int, int],
        shown: HiddenText | None,
    ) -> FoundMatch:
        start, end = span
        around = self.page.wanted.context_chars
        begin, behind = max(0, start - around), min(len(text), end + around)

        def cut(first: int, last: int) -> str:
            return shown.excerpt.show(first, last).text if shown else text[first:last]

        return FoundMatch(
            self._name(string.tool),
            table.id,
            string.json_pointer,
            start,
            end,
            cut(begin, start),
            text[start : min(end, start + MAX_MATCH_CHARS)],
            cut(end, behind),
            Cite.of(table.id, string.json_pointer, table.revision, start, text[start:end], end),
        )

    def _name(self, tool: SearchTool) -> str | None:
        if tool.id not in self._names:
            self._names[tool.id] = name_of(self.work, tool)
        return self._names[tool.id]


def _place_in(table: TableListing, cursor: FindCursor | None) -> tuple[int, int]:
    """Returns which string of a list a cursor stands in, and its offset there."""
    if cursor is None or cursor.is_beginning:
        return 0, 0
    for number, string in enumerate(table.strings):
        if cursor.is_at(string.json_pointer):
            return number, cursor.offset
    raise cursor_invalid()
