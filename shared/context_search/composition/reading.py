"""What callers read with: the use cases of reading."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from context_search.agents.list_tools import ListTools
from context_search.composition.parts import Parts
from context_search.composition.searching import Searching
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.integrations.patterns.re2_patterns import Re2Patterns
from context_search.reading.connector import Connector
from context_search.reading.find_text import FindText
from context_search.reading.outline import Outlines
from context_search.reading.passages import DescribePassages
from context_search.reading.read import ReadTexts
from context_search.reading.search_all import SearchAll
from context_search.reading.tools.toolbox import ReadingTools


@dataclass(frozen=True)
class Reading:
    """The use cases of reading."""

    parts: Parts
    searching: Searching

    @property
    def public_url(self) -> str:
        """Where people reach the deployment; empty where nobody says so."""
        return self.parts.settings.public_url or ""

    @cached_property
    def describe(self) -> DescribePassages:
        """Makes passages of hits."""
        parts = self.parts
        return DescribePassages(
            parts.postgres, parts.clock, self.searching.redaction, self.public_url
        )

    @cached_property
    def search(self) -> SearchAll:
        """Searches all collections."""
        return SearchAll(
            ListTools(self.parts.postgres),
            self.searching.of_tools,
            self.describe,
            TiktokenCounter(),
            self.parts.clock,
        )

    @cached_property
    def read(self) -> ReadTexts:
        """Reads texts."""
        store = self.parts.postgres
        return ReadTexts(store, ListTools(store), TiktokenCounter(), self.public_url)

    @cached_property
    def find_text(self) -> FindText:
        """Finds exact text."""
        store = self.parts.postgres
        return FindText(store, ListTools(store), Re2Patterns(), self.parts.clock)

    @cached_property
    def outline(self) -> Outlines:
        """Lists what there is to read."""
        store = self.parts.postgres
        return Outlines(store, ListTools(store), self.parts.clock)

    @cached_property
    def connector(self) -> Connector:
        """Searches and fetches for connectors."""
        store = self.parts.postgres
        return Connector(store, ListTools(store), self.search, self.read, self.parts.clock)

    @cached_property
    def tools(self) -> ReadingTools:
        """The tools of agents."""
        return ReadingTools(
            self.read, self.search, self.describe, self.find_text, self.outline, self.connector
        )
