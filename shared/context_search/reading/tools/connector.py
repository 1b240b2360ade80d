"""``search`` and ``fetch`` as MCP tools of a connector.

As OpenAI documents them: https://developers.openai.com/api/docs/mcp. One argument each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from context_search.agents.tools.arguments import arguments_schema, read_arguments
from context_search.agents.tools.results import flat_schema
from context_search.agents.tools.search_tools import (
    MAX_QUERY_CHARS,
    QUOTED,
    checked_query,
    hints,
)
from context_search.core.callers import Principal, TextsOf
from context_search.core.cites import Cite
from context_search.mcp.contract import ToolDescription, UnknownToolError
from context_search.reading.connector import Connector
from context_search.reading.routes.read import CiteText
from context_search.web.fields import AnswerModel, Body

SEARCH, FETCH = "search", "fetch"
_SEARCH_DESCRIPTION = (
    "Searches the texts of all collections by meaning and by key words. Returns results, best "
    "first, each with the id, the title and the url of a passage, and no text: fetch returns the "
    "text of an id. " + QUOTED
)
_FETCH_DESCRIPTION = (
    "Returns the text that the id of a result stands for: the whole string, or of one of over "
    "50,000 characters the window around the passage; metadata then has the ids of the windows "
    "before and behind it, previous and next. It does not search, which search does. " + QUOTED
)


class ConnectorSearchBody(Body):
    """The arguments of a connector's ``search``."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_QUERY_CHARS,
            description="What to look for: a question, key words or a phrase, in any language.",
        ),
    ]


class FetchBody(Body):
    """The arguments of ``fetch``."""

    id: CiteText


class ConnectorResultAnswer(AnswerModel):
    """A passage."""

    id: Annotated[str, Field(description="fetch takes it.")]
    title: str
    url: Annotated[str, Field(description="Where a person can open it; empty if nowhere.")]


class ConnectorResultsAnswer(AnswerModel):
    """Passages, best first."""

    results: list[ConnectorResultAnswer]


class FetchedTextAnswer(ConnectorResultAnswer):
    """The text of a result, and where it stands."""

    text: Annotated[str, Field(description="A quotation, unchanged unless redacted.")]
    metadata: Annotated[
        dict[str, str],
        Field(
            description="table_id, pointer, revision; status: current, moved or changed since it "
            "was found; previous and next: ids of the windows beside it."
        ),
    ]


def described(*, texts: TextsOf) -> list[ToolDescription]:
    """Describes both."""
    return [
        ToolDescription(
            name=SEARCH,
            title="Search",
            description=_SEARCH_DESCRIPTION,
            input_schema=arguments_schema(ConnectorSearchBody),
            output_schema=flat_schema(ConnectorResultsAnswer),
            annotations=hints("Search", texts),
        ),
        ToolDescription(
            name=FETCH,
            title="Fetch a text",
            description=_FETCH_DESCRIPTION,
            input_schema=arguments_schema(FetchBody),
            output_schema=flat_schema(FetchedTextAnswer),
            annotations=hints("Fetch a text", texts),
        ),
    ]


def call(
    use: Connector, principal: Principal, name: str, arguments: Mapping[str, object]
) -> dict[str, Any]:
    """Calls a tool of a connector. Raises UnknownToolError for another name."""
    if name == SEARCH:
        return search(use, principal, arguments)
    if name == FETCH:
        return fetch(use, principal, arguments)
    raise UnknownToolError("there is no such tool")


def search(use: Connector, principal: Principal, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Calls ``search``. Raises as ``Connector`` does, and InvalidInputError for its arguments."""
    query = checked_query(read_arguments(ConnectorSearchBody, arguments).query)
    results = [ConnectorResultAnswer.about(each) for each in use.search(principal, query)]
    return ConnectorResultsAnswer(results=results).model_dump(mode="json")


def fetch(use: Connector, principal: Principal, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Calls ``fetch``. Raises as ``Connector`` does, and InvalidInputError for its arguments."""
    cite = Cite.parse(read_arguments(FetchBody, arguments).id)
    return FetchedTextAnswer.about(use.fetch(principal, cite)).model_dump(mode="json")
