"""The tools by which callers read: which of them an instance has, and their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_search.core.callers import Principal, TextsOf
from context_search.mcp.contract import ToolDescription, UnknownToolError
from context_search.reading.read import ReadTexts
from context_search.reading.tools import read


@dataclass(frozen=True, slots=True)
class ReadingTools:
    """Implements ``FurtherTools`` of agents: what they read with."""

    read: ReadTexts

    def described(self, collections: Sequence[str], texts: TextsOf) -> list[ToolDescription]:
        """Returns the tools, always in the same order."""
        return [read.described(collections, texts=texts)]

    def call(
        self, principal: Principal, name: str, arguments: Mapping[str, object]
    ) -> dict[str, Any]:
        """Calls a tool. Raises UnknownToolError, and what its use case raises."""
        if name == read.NAME:
            return read.call(self.read, principal, arguments)
        raise UnknownToolError("there is no such tool")
