"""The official Python client over real sockets, in both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.context import ClientRequestContext
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitResult

from context_search.agents.tools.search_tools import parse_search_arguments, search_tool
from context_search.core.errors import EmbeddingUnavailableError
from context_search.mcp.contract import ClientInput, Form, InputRequired, ToolResult
from tests.mcp.asgi import mcp_app, serving
from tests.mcp.memory import MemoryToolbox, describe, raising
from tests.mcp.test_search_schema import ANSWER

Mode = Literal["legacy", "auto", "2026-07-28"]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
KEY = "cs_test"
Answer = TypeVar("Answer")


def search(arguments: Mapping[str, object]) -> ToolResult:
    query, top_k, _ = parse_search_arguments(arguments)
    return ToolResult({**ANSWER, "query": query, "results": ANSWER["results"][: top_k or 5]})


def asks(client: ClientInput) -> ToolResult | InputRequired:
    """A tool that asks once, where it can."""
    answer = client.answers.get("confirm")
    if answer is None and client.takes_forms:
        schema = {"type": "object", "properties": {"confirm": {"type": "boolean"}}}
        return InputRequired({"confirm": Form("Replace 7 matches?", schema)}, "state")
    reported = {"state": client.state, "said": answer and [answer.action, dict(answer.content)]}
    return ToolResult(reported)


def tools() -> MemoryToolbox:
    kb = search_tool(name="search_kb", title="KB", description="", table_name="Articles")
    busy = raising(EmbeddingUnavailableError("busy", retry_after_s=1))
    wrong = search_tool(name="wrong", title="Wrong", description="", table_name="Articles")
    return MemoryToolbox(
        asking={"asks": asks},
        tools={
            "search_kb": (kb, search),
            "busy": (search_tool(name="busy", title="", description="", table_name=""), busy),
            "查找": (describe("查找"), search),
            "wrong": (wrong, lambda _: ToolResult({"results": "none"})),
        },
    )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(mcp_app(tools(), KEY)) as address:
        yield address


@asynccontextmanager
async def connected(
    url: str, mode: Mode, key: str = KEY, on_form: ElicitationFnT | None = None
) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers) as http_client:
        transport = streamable_http_client(url, http_client=http_client)
        async with Client(transport, mode=mode, elicitation_callback=on_form) as client:
            yield client


def ask(
    url: str,
    mode: Mode,
    question: Callable[[Client], Awaitable[Answer]],
    key: str = KEY,
    on_form: ElicitationFnT | None = None,
) -> Answer:
    async def asking() -> Answer:
        async with connected(url, mode, key, on_form) as client:
            return await question(client)

    try:
        return asyncio.run(asking())
    except ExceptionGroup as group:
        # The client's task groups wrap what went wrong once per layer.
        raise _innermost(group) from None


def _innermost(error: Exception) -> Exception:
    return _innermost(error.exceptions[0]) if isinstance(error, ExceptionGroup) else error


@pytest.mark.parametrize(
    ("mode", "version"),
    [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")],
)
def test_the_client_and_the_server_agree_on_a_version(url: str, mode: Mode, version: str) -> None:
    async def agreed(client: Client) -> str:
        return client.protocol_version

    assert ask(url, mode, agreed) == version


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_client_learns_who_the_server_is(url: str, mode: Mode) -> None:
    async def met(client: Client) -> tuple[str | None, str | None, bool]:
        name = client.server_info.name if client.server_info else None
        return name, client.instructions, client.server_capabilities.tools is not None

    assert ask(url, mode, met) == ("context-search", "Search before you answer.", True)


@MODES
def test_tools_are_listed(url: str, mode: Mode) -> None:
    listed = ask(url, mode, lambda client: client.list_tools()).tools
    assert [tool.name for tool in listed] == ["search_kb", "busy", "查找", "wrong"]
    assert listed[0].input_schema["additionalProperties"] is False
    assert listed[0].annotations is not None
    assert listed[0].annotations.read_only_hint is True


@MODES
@pytest.mark.parametrize("name", ["search_kb", "查找"])
def test_a_search_comes_back_structured_and_as_text(url: str, mode: Mode, name: str) -> None:
    result = ask(url, mode, lambda client: client.call_tool(name, {"query": "西瓜"}))
    assert result.is_error is False
    assert result.structured_content == {**ANSWER, "query": "西瓜"}
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]


@MODES
def test_bad_arguments_are_a_result_the_model_can_read(url: str, mode: Mode) -> None:
    arguments = {"query": "x", "top_k": 21}
    result = ask(url, mode, lambda client: client.call_tool("search_kb", arguments))
    assert result.is_error is True
    report = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert report["code"] == "INVALID_INPUT"
    assert "1 to 20" in report["message"]


@MODES
def test_a_busy_provider_says_when_to_retry(url: str, mode: Mode) -> None:
    result = ask(url, mode, lambda client: client.call_tool("busy", {"query": "x"}))
    assert result.is_error is True
    report = json.loads(result.content[0].text)  # type: ignore[union-attr]
    assert (report["retryable"], report["retryAfterMs"]) == (True, 1000)


@MODES
def test_an_unknown_tool_is_a_protocol_error(url: str, mode: Mode) -> None:
    with pytest.raises(MCPError, match="Unknown tool: nope") as caught:
        ask(url, mode, lambda client: client.call_tool("nope", {}))
    assert caught.value.code == -32602


@MODES
def test_the_client_holds_us_to_our_output_schema(url: str, mode: Mode) -> None:
    with pytest.raises(RuntimeError, match="Invalid structured content"):
        ask(url, mode, lambda client: client.call_tool("wrong", {}))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_wrong_key_is_refused(url: str, mode: Mode) -> None:
    with pytest.raises(MCPError, match="this key is unknown"):
        ask(url, mode, lambda client: client.list_tools(), key="wrong")


@pytest.mark.parametrize(
    ("answered", "said"),
    [
        (ElicitResult(action="accept", content={"confirm": True}), ["accept", {"confirm": True}]),
        (ElicitResult(action="decline"), ["decline", {}]),
        (ElicitResult(action="cancel"), ["cancel", {}]),
    ],
)
@MODES
def test_a_question_is_put_before_the_user_and_the_answer_comes_back(
    url: str, mode: Mode, answered: ElicitResult, said: list[object]
) -> None:
    shown: list[str] = []

    async def on_form(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        shown.append(params.message)
        return answered

    result = ask(url, mode, lambda client: client.call_tool("asks", {}), on_form=on_form)
    if mode == "legacy":
        assert (shown, result.structured_content) == ([], {"state": None, "said": None})
    else:
        assert shown == ["Replace 7 matches?"]
        assert result.structured_content == {"state": "state", "said": said}


@MODES
def test_a_client_without_forms_is_never_asked(url: str, mode: Mode) -> None:
    result = ask(url, mode, lambda client: client.call_tool("asks", {}))
    assert result.structured_content == {"state": None, "said": None}
