"""The Search Tools of a caller as MCP tools: what they take and give, and how they are called."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from pydantic import BaseModel

from context_search.domain.access import McpInstance, McpKey, Principal
from context_search.domain.errors import ContextSearchError, InvalidInputError
from context_search.domain.model import SearchTool
from context_search.domain.search import QuestionLimits
from context_search.domain.text.plain_text import without_hidden_characters
from context_search.mcp.contract import (
    ClientInput,
    InputRequired,
    ToolDescription,
    ToolFailure,
    ToolPage,
    ToolResult,
    UnknownToolError,
)
from context_search.mcp.jsonrpc import to_bytes
from context_search.services.access.mcp_instances import ManageMcps
from context_search.services.catalog.list_tools import RESERVED_NAMES, ListTools
from context_search.services.searching.targets import SearchedTool, Searches
from context_search.web.problems import http_status, public_message
from context_search.web.routes.searching.search import MAX_RESULTS, ToolResultAnswer

if TYPE_CHECKING:
    from context_search.web.agents.replacing import ReplaceUseCases

_NOT_SHOWN = {"title", "default"}


def flat_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the JSON Schema of what a model gives, with every part in its place."""
    schema = model.model_json_schema(mode="serialization")
    return _flat(schema, schema.pop("$defs", {}))


def _flat(part: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in part.items() if key not in _NOT_SHOWN}
    if "$ref" in flat:
        flat = {**_flat(parts[flat.pop("$ref").rpartition("/")[2]], parts), **flat}
    elif "properties" in flat:
        flat.pop("description", None)
        members = flat["properties"].items()
        flat["properties"] = {name: _flat(member, parts) for name, member in members}
    if "items" in flat:
        flat["items"] = _flat(flat["items"], parts)
    return flat


# Claude Code, for one, cuts off a result of 25,000 tokens. Three bytes of UTF-8 are about a token
# of Chinese and more than half a token of anything else.
MAX_RESULT_BYTES = 60_000


def fitted(answer: Mapping[str, Any], limit: int = MAX_RESULT_BYTES) -> dict[str, Any]:
    """Returns a search's answer without the last hits that do not fit into ``limit`` bytes of JSON.

    ``omitted`` then counts them. Of a best hit that is too long by itself the passage is cut, and
    ``char_end`` says where; it is left out only if its place alone is too long.
    """
    results: list[Any] = answer["results"]
    room = limit - len(to_bytes({**answer, "results": [], "omitted": len(results)}))
    kept: list[Any] = []
    for hit in results:
        shown = hit if kept else _shortened(hit, room)
        room -= len(to_bytes(shown)) + 1  # and the comma
        if room < 0:
            break
        kept.append(shown)
        if shown is not hit:
            break
    if len(kept) == len(results):
        return {**answer, "results": kept}
    return {**answer, "results": kept, "omitted": len(results) - len(kept)}


def trimmed(
    answer: Mapping[str, Any], *names: str, limit: int = MAX_RESULT_BYTES
) -> dict[str, Any]:
    """Returns an answer without the last members of its lists that do not fit into ``limit`` bytes.

    The lists by those names are cut in that order, each only where that before is empty already.
    """
    cut = dict(answer)
    for name in names:
        if len(to_bytes(cut)) <= limit:
            break
        if isinstance(cut[name], list):
            cut[name] = _fitting(cut, name, limit)
    return cut


def _fitting(answer: Mapping[str, Any], name: str, limit: int) -> list[Any]:
    rows: list[Any] = answer[name]

    def size(count: int) -> int:
        return len(to_bytes({**answer, name: rows[:count]}))

    return rows[: max(bisect_right(range(len(rows) + 1), limit, key=size) - 1, 0)]


def _shortened(hit: Mapping[str, Any], room: int) -> Mapping[str, Any]:
    """A hit whose passage is as long as it may be; without its preview if that does not fit."""
    if len(to_bytes(hit)) < room:
        return hit
    text, start = hit["chunk"]["chunk_text"], hit["chunk"]["char_start"]

    def cut(length: int) -> dict[str, Any]:
        passage = {"chunk_text": text[:length], "char_end": start + length}
        bare = {name: value for name, value in hit.items() if name != "preview"}
        return {**bare, "chunk": {**hit["chunk"], **passage}}

    fits = bisect_right(range(len(text) + 1), room - 1, key=lambda n: len(to_bytes(cut(n))))
    return cut(max(fits - 1, 0))


P = ParamSpec("P")
T = TypeVar("T")
MAX_QUERY_CHARS = 2_000
MAX_TOP_K = MAX_RESULTS
DEFAULT_TOP_K = 5
MAX_TITLE_CHARS = 200
MAX_DESCRIPTION_CHARS = 4_000


def _input_schema(top_k: int) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUERY_CHARS,
                "description": "What to look for: a question, key words or an exact phrase, "
                "in any language.",
            },
            "top_k": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_TOP_K,
                "default": top_k,
                "description": "How many passages to return, best first.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }


SEARCH_INPUT_SCHEMA: Mapping[str, object] = _input_schema(DEFAULT_TOP_K)

SEARCH_OUTPUT_SCHEMA: Mapping[str, object] = flat_schema(ToolResultAnswer)


_READ_ONLY: Mapping[str, object] = {
    "readOnlyHint": True,
    "idempotentHint": True,
    "openWorldHint": False,
}


def search_tool(
    *, name: str, title: str, description: str, table_name: str, top_k: int = DEFAULT_TOP_K
) -> ToolDescription:
    """Describe one Search Tool; ``top_k`` is the number of passages it gives by itself.

    ``description`` is shown as its owner wrote it, braces and all; a blank one is replaced by a
    sentence about the table. ``name``: see ToolDescription.
    """
    default = (
        f"Searches the long texts of “{table_name}” by meaning and by key words and returns the "
        "best passages, each with the exact place it comes from."
    )
    return ToolDescription(
        name=name,
        title=title,
        description=description.strip() or default,
        input_schema=_input_schema(top_k),
        output_schema=SEARCH_OUTPUT_SCHEMA,
        annotations=_READ_ONLY,
    )


def described_tool(name: str, tool: SearchTool) -> ToolDescription:
    """Describe a stored tool; rows of an adopter may be longer and stranger than ours."""
    table_name = tool.table_name or f"table {tool.scope.table_id}"
    return search_tool(
        name=name,
        title=without_hidden_characters(tool.name)[:MAX_TITLE_CHARS],
        description=without_hidden_characters(tool.description or "")[:MAX_DESCRIPTION_CHARS],
        table_name=without_hidden_characters(table_name)[:MAX_TITLE_CHARS],
        top_k=tool.search.top_k,
    )


class SearchArguments(NamedTuple):
    """A search call's checked arguments; ``top_k`` None takes the tool's own number."""

    query: str
    top_k: int | None


def parse_search_arguments(arguments: Mapping[str, object]) -> SearchArguments:
    """Check a search call's arguments against ``SEARCH_INPUT_SCHEMA``, without coercion.

    Raises InvalidInputError for unknown names, ``"5"``, ``true`` or ``5.0`` as top_k, lengths and
    numbers out of range, and what no JSON body over HTTP may hold either (NUL, lone surrogates).
    """
    unknown = sorted(set(arguments) - {"query", "top_k"})
    if unknown:
        raise InvalidInputError(f"unknown argument: {unknown[0][:64]!r}; there are query and top_k")
    return SearchArguments(
        _parse_query(arguments.get("query")),
        _parse_top_k(arguments["top_k"]) if "top_k" in arguments else None,
    )


def _parse_query(query: object) -> str:
    if not isinstance(query, str) or not 1 <= len(query) <= MAX_QUERY_CHARS:
        raise InvalidInputError(f"query must be a string of 1 to {MAX_QUERY_CHARS} characters")
    if any("\ud800" <= char <= "\udfff" for char in query):
        raise InvalidInputError("query holds half a surrogate pair")
    if "\x00" in query:
        raise InvalidInputError("query holds U+0000")
    return query


def _parse_top_k(top_k: object) -> int:
    if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= MAX_TOP_K:
        raise InvalidInputError(f"top_k must be an integer from 1 to {MAX_TOP_K}")
    return top_k


def in_words_of_mcp(call: Callable[P, T]) -> Callable[P, T]:
    """Returns a function that tells of our errors by ToolFailure, with the status of HTTP."""

    @wraps(call)
    def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except ContextSearchError as error:
            raise ToolFailure(
                http_status(error),
                error.code,
                public_message(error),
                retryable=error.retryable,
                retry_after_s=error.retry_after_s,
                members=trimmed(error.members, *error.members),
            ) from error

    return told


@dataclass(frozen=True, slots=True)
class SearchToolbox:
    """The port ``Toolbox`` for one authenticated caller."""

    principal: Principal
    tools: ListTools
    search: Searches

    @in_words_of_mcp
    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """See ``Toolbox``. The cursor is the id of the last tool of the page before."""
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
            raise InvalidInputError("the cursor is not one of ours")
        page, last = self.tools.page(self.principal, after=int(cursor or 0))
        described = [described_tool(named.name, named.tool) for named in page]
        return ToolPage(described, None if last is None else str(last))

    @in_words_of_mcp
    def call_tool(
        self, name: str, arguments: Mapping[str, object], client: ClientInput
    ) -> ToolResult:
        """See ``Toolbox``. A search never asks."""
        del client
        tool = self.tools.find(self.principal, name)
        if tool is None:
            raise UnknownToolError("there is no such tool")
        query, top_k = parse_search_arguments(arguments)
        searched = SearchedTool.by(self.principal, tool.id)
        answer = self.search.search(searched, query, QuestionLimits(top_k=top_k))
        return ToolResult(fitted(ToolResultAnswer.of(answer).model_dump(mode="json")))


@dataclass(frozen=True, slots=True)
class AgentToolbox:
    """The port ``Toolbox`` for an agent with a key of an MCP instance.

    The instance's row decides at each list, and at each call of a tool that replaces. What
    replaces is loaded when an instance has it: most never do.
    """

    principal: McpKey
    search: SearchToolbox
    mcps: ManageMcps
    replacing: Callable[[], ReplaceUseCases]

    @in_words_of_mcp
    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """See ``Toolbox``. The first page begins with the tools that replace."""
        page = self.search.list_tools(cursor=cursor)
        instance = self._instance()
        if cursor is not None or instance.replacing == "off":
            return page
        from context_search.web.agents.replace_tools import tools_of  # noqa: PLC0415

        return ToolPage([*tools_of(instance.replacing), *page.tools], page.next_cursor)

    @in_words_of_mcp
    def call_tool(
        self, name: str, arguments: Mapping[str, object], client: ClientInput
    ) -> ToolResult | InputRequired:
        """See ``Toolbox``."""
        if name not in RESERVED_NAMES:
            return self.search.call_tool(name, arguments, client)
        instance = self._instance()
        if instance.replacing == "off":
            raise UnknownToolError("there is no such tool")
        from context_search.web.agents.replacing import AgentReplacing  # noqa: PLC0415

        replacing = AgentReplacing(self.principal, instance, client, self.replacing())
        return replacing.call(name, arguments)

    def _instance(self) -> McpInstance:
        return self.mcps.read(self.principal, self.principal.mcp_id)
