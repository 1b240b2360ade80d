"""``find_text`` as an MCP tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_search.agents.tools.arguments import read_arguments
from context_search.agents.tools.results import MAX_RESULT_BYTES, flat_schema
from context_search.agents.tools.search_tools import QUOTED, hints
from context_search.core.callers import Principal, TextsOf
from context_search.mcp.contract import ToolDescription
from context_search.reading.find_text import FindText
from context_search.reading.routes.find_text import FindTextAnswer, FindTextBody
from context_search.reading.tools.described import arguments_of

NAME = "find_text"
_DESCRIPTION = (
    "Finds every place where an exact text stands, or a regular expression matches, in the order "
    "of the documents. Returns matches with the text before and after and a cite of each, how "
    "many there are in all, and a cursor where there are more. It does not know what words mean: "
    "search finds passages by meaning, read shows more text around a cite. " + QUOTED
)


def described(collections: Sequence[str], *, texts: TextsOf) -> ToolDescription:
    """Describes it for a caller with these collections."""
    return ToolDescription(
        name=NAME,
        title="Find exact text",
        description=_DESCRIPTION,
        input_schema=arguments_of(FindTextBody, collections),
        output_schema=flat_schema(FindTextAnswer),
        annotations=hints("Find exact text", texts),
    )


def call(use: FindText, principal: Principal, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Calls it. Raises as ``FindText.find`` does, and InvalidInputError for its arguments."""
    found = use.find(principal, read_arguments(FindTextBody, arguments).wanted())
    return FindTextAnswer.of(found, max_bytes=MAX_RESULT_BYTES).model_dump(mode="json")
