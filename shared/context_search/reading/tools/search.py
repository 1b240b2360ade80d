"""``search`` over all collections as an MCP tool, and the passages of a Search Tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, model_validator

from context_search.agents.list_tools import NamedTool
from context_search.agents.tools.arguments import read_arguments
from context_search.agents.tools.passages import DegradedAnswer, PassageAnswer, PassagesAnswer
from context_search.agents.tools.results import MAX_RESULT_BYTES, flat_schema, trimmed
from context_search.agents.tools.search_tools import MAX_QUERY_CHARS, QUOTED, checked_query, hints
from context_search.core.callers import Principal, TextsOf
from context_search.mcp.contract import ToolDescription
from context_search.ranking.search import SearchResult
from context_search.reading.passages import DescribePassages, FoundHit, Passage
from context_search.reading.routes.read import Collection
from context_search.reading.search_all import (
    DEFAULT_TOKENS,
    DEFAULT_TOP_K,
    MAX_TOP_K,
    DegradedSearch,
    FoundPassages,
    SearchAll,
)
from context_search.reading.tools.described import arguments_of
from context_search.web.fields import Body

NAME = "search"
MOST_QUERIES = 5
_TITLE = "Search"
_ROOM_OF_MORE = 300
"""Number of bytes that are kept for the sentences of ``more``."""
_DESCRIPTION = (
    "Searches the long texts of all collections, or of one, by meaning and by key words. Returns "
    "the best passages, each with its cite, its title and its exact place; several queries are "
    "answered together, and passages that touch are joined. It does not look for exact text, which "
    "find_text does, nor list what there is, which outline does; read goes on from a cite. "
    + QUOTED
)
_Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]


class SearchAllBody(Body):
    """The arguments of ``search``."""

    query: Annotated[
        _Query | None,
        Field(description="What to look for: a question, key words or a phrase, in any language."),
    ] = None
    queries: Annotated[
        list[_Query] | None,
        Field(
            min_length=2,
            max_length=MOST_QUERIES,
            description="Instead of query: several wordings or questions at once.",
        ),
    ] = None
    collection: Annotated[Collection | None, Field(description="Only this collection.")] = None
    top_k: Annotated[
        int, Field(ge=1, le=MAX_TOP_K, description="How many passages to return, best first.")
    ] = DEFAULT_TOP_K
    max_tokens: Annotated[
        int, Field(ge=500, le=10_000, description="How long the passages may be together.")
    ] = DEFAULT_TOKENS

    @model_validator(mode="after")
    def _asks(self) -> SearchAllBody:
        if (self.query is None) == (self.queries is None):
            raise ValueError("give either query or queries")
        return self

    @property
    def asked(self) -> list[str]:
        """Returns the queries, each once. Raises InvalidInputError for one that is none."""
        given: Sequence[object] = self.queries or [self.query]
        return list(dict.fromkeys(map(checked_query, given)))


def described(collections: Sequence[str], *, texts: TextsOf) -> ToolDescription:
    """Describes it for a caller with these collections."""
    return ToolDescription(
        name=NAME,
        title=_TITLE,
        description=_DESCRIPTION,
        input_schema=arguments_of(SearchAllBody, collections),
        output_schema=flat_schema(PassagesAnswer),
        annotations=hints(_TITLE, texts),
    )


def call(use: SearchAll, principal: Principal, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Calls it. Raises as ``SearchAll.passages`` does, and InvalidInputError for its arguments."""
    body = read_arguments(SearchAllBody, arguments)
    found = use.passages(principal, body.asked, body.collection, body.top_k, body.max_tokens)
    return _fitted(found, is_told_for=len(body.asked) > 1)


def passages_of(
    use: DescribePassages, principal: Principal, named: NamedTool, answer: SearchResult
) -> dict[str, Any]:
    """Returns the answer of a Search Tool in the concise form."""
    hits = [FoundHit(named.name, answer.query, answer.target, hit) for hit in answer.hits]
    passages = use.alone(principal, hits)
    degraded = [DegradedSearch(named.name, reason) for reason in answer.degraded]
    return _fitted(FoundPassages(passages, len(passages), degraded, hint=answer.hint))


def _fitted(found: FoundPassages, *, is_told_for: bool = False) -> dict[str, Any]:
    """Returns the answer, without the last passages where it would be too long."""
    answer = PassagesAnswer(
        passages=[_shown(each, is_told_for=is_told_for) for each in found.passages],
        degraded=[DegradedAnswer.about(each) for each in found.degraded] or None,
        hint=None if found.passages else found.hint,
    )
    limit = MAX_RESULT_BYTES - _ROOM_OF_MORE
    fitting = trimmed(answer.model_dump(mode="json"), "passages", "degraded", limit=limit)
    more = _more(found, len(fitting["passages"]))
    return {**fitting, "more": more} if more else fitting


def _shown(passage: Passage, *, is_told_for: bool) -> PassageAnswer:
    queries = list(passage.queries) if is_told_for else None
    return PassageAnswer.about(passage, cite=str(passage.cite), place=passage, queries=queries)


def _more(found: FoundPassages, shown: int) -> str | None:
    """Returns the sentences that say what was left out, and how to get it."""
    sentences = []
    if shown < len(found.passages):
        sentences.append(f"{shown} of {found.total} passages: the others do not fit into a result.")
    elif shown < found.total:
        counts = f"{shown} of {found.total} passages."
        sentences.append(f"{counts} A larger top_k or max_tokens gives more.")
    if found.is_cut:
        sentences.append("The passage is cut to max_tokens; read goes on from its cite.")
    return " ".join(sentences) or None
