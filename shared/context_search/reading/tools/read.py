"""``read`` as an MCP tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_search.agents.tools.arguments import read_arguments
from context_search.agents.tools.results import flat_schema
from context_search.agents.tools.search_tools import QUOTED, hints
from context_search.core.callers import Principal, TextsOf
from context_search.mcp.contract import ToolDescription
from context_search.reading.read import ReadTexts
from context_search.reading.routes.read import ReadTextAnswer, ReadTextBody
from context_search.reading.tools.described import arguments_of

NAME = "read"
_DESCRIPTION = (
    "Reads the text around a cite, or from a place of a collection on, as it is now. Returns the "
    "text with its place, the length of the whole string, cites of what stands before and behind "
    "(previous, next), and status: whether the cited text still stands there. It does not search: "
    "search finds passages by meaning, find_text finds exact words. " + QUOTED
)


def described(collections: Sequence[str], *, texts: TextsOf) -> ToolDescription:
    """Describes it for a caller with these collections."""
    return ToolDescription(
        name=NAME,
        title="Read on",
        description=_DESCRIPTION,
        input_schema=arguments_of(ReadTextBody, collections),
        output_schema=flat_schema(ReadTextAnswer),
        annotations=hints("Read on", texts),
    )


def call(use: ReadTexts, principal: Principal, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Calls it. Raises as ``ReadTexts.read`` does, and InvalidInputError for its arguments."""
    seen = use.read(principal, read_arguments(ReadTextBody, arguments).wanted())
    return ReadTextAnswer.of(seen).model_dump(mode="json")
