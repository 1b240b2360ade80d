"""The tools by which callers read: which of them an instance has, and their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from context_search.agents.list_tools import NamedTool
from context_search.agents.tools.toolboxes import Offer
from context_search.core.callers import Principal
from context_search.mcp.contract import ToolDescription, UnknownToolError
from context_search.ranking.search import SearchResult
from context_search.reading.connector import Connector
from context_search.reading.find_text import FindText
from context_search.reading.outline import Outlines
from context_search.reading.passages import DescribePassages
from context_search.reading.read import ReadTexts
from context_search.reading.search_all import SearchAll
from context_search.reading.tools import connector, find_text, outline, read, search


@dataclass(frozen=True, slots=True)
class ReadingTools:
    """Implements ``ReadingTools`` of agents."""

    read: ReadTexts
    search: SearchAll
    describe: DescribePassages
    find_text: FindText
    outline: Outlines
    connector: Connector

    def described(self, offer: Offer, collections: Sequence[str]) -> Sequence[ToolDescription]:
        """See ``ReadingTools`` of agents."""
        if offer.offers == "connector":
            return connector.described(texts=offer.texts)
        return [tool.described(collections, texts=offer.texts) for tool in _offered(offer)]

    def call(
        self, principal: Principal, offer: Offer, name: str, arguments: Mapping[str, object]
    ) -> Mapping[str, object]:
        """See ``ReadingTools`` of agents; raises what the use cases raise."""
        if offer.offers == "connector":
            return connector.call(self.connector, principal, name, arguments)
        if name not in {tool.NAME for tool in _offered(offer)}:
            raise UnknownToolError("there is no such tool")
        if name == search.NAME:
            return search.call(self.search, principal, arguments)
        if name == find_text.NAME:
            return find_text.call(self.find_text, principal, arguments)
        if name == outline.NAME:
            return outline.call(self.outline, principal, arguments)
        return read.call(self.read, principal, arguments)

    def concise(
        self, principal: Principal, named: NamedTool, answer: SearchResult
    ) -> Mapping[str, object]:
        """See ``ReadingTools`` of agents."""
        return search.passages_of(self.describe, principal, named, answer)


def _offered(offer: Offer) -> list[ModuleType]:
    """Returns the tools of an instance that is no connector, in their order."""
    searches = [search] if offer.offers == "single" else []
    return [*searches, *([read, find_text, outline] if offer.reads else [])]
