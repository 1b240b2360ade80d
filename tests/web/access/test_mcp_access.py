"""MCP at both addresses: every bad key, and every way to name a tool of somebody else's."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from context_search.agents.list_tools import TOOLS_PER_PAGE
from tests.web.access.credentials import Headers, bad_headers, dead_keys, strange_keys
from tests.web.access.matrix import MCP_METHODS
from tests.web.access.stores import state_without
from tests.web.access.things import MISSING, NOWHERE, Tenant
from tests.web.agent import READS
from tests.web.api import Api, LocalParts, answer
from tests.web.test_contract import META, MODERN

METHODS = ("server/discover", "tools/list", "tools/call")
ADDRESSES = ("/mcp", "/api/v1/mcp/server/{}")


def send(
    api: Api, method: str, path: str, headers: Headers | None = None, **params: Any
) -> httpx2.Response:
    """A request of the modern era."""
    sent: Any = {**MODERN, "mcp-method": method, **(headers or {})}
    if "name" in params:
        sent["mcp-name"] = params["name"]
    params["_meta"] = META
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return api.http.post(path, json=message, headers=sent)


def call_with(api: Api, address: str, key: str, method: str, **params: Any) -> httpx2.Response:
    """The same with a key, where the address has it."""
    if address == "/mcp":
        return send(api, method, address, {"authorization": f"Bearer {key}"}, **params)
    return send(api, method, address.format(quote(key, safe="")), **params)


def refusal(response: httpx2.Response, status: int) -> dict[str, Any]:
    """The JSON-RPC error of a request that was not let in."""
    assert response.status_code == status, response.text
    error: dict[str, Any] = response.json()["error"]
    assert (error["code"], response.json()["id"]) == (-32600, None)
    assert ("www-authenticate" in response.headers) == (status == 401)
    return error


@pytest.mark.parametrize("method", METHODS)
def test_mcp_wants_a_good_key_in_its_header(parts: LocalParts, victim: Tenant, method: str) -> None:
    kinds = bad_headers(victim)
    before = state_without(parts, 0)
    params = {"name": "secret_one", "arguments": {"query": "harbour"}}
    for kind, headers in kinds.items():
        more: Any = params if method == "tools/call" else {}
        response = send(victim.api, method, "/mcp", headers, **more)
        assert response.status_code == 401, kind
        assert refusal(response, 401)["data"]["code"] == "UNAUTHENTICATED"
        assert "error=" in response.headers["www-authenticate"] or "authorization" not in headers
    assert state_without(parts, 0) == before


@pytest.mark.parametrize("method", METHODS)
def test_mcp_wants_a_good_key_in_its_address_and_looks_nowhere_else(
    victim: Tenant, method: str
) -> None:
    good: Headers = {"authorization": f"Bearer {victim.api.key}"}
    said = {}
    for kind, text in (strange_keys(victim.api.key) | dead_keys(victim.api)).items():
        path = f"/api/v1/mcp/server/{quote(text, safe='')}"
        response = send(victim.api, method, path, good)
        assert response.status_code == 401, kind
        said[kind] = refusal(response, 401)
    assert all(each == said["unknown"] for each in said.values())


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("scopes", [["manage"], ["replace"], ["manage", "replace"]])
def test_mcp_wants_the_scope_search(victim: Tenant, address: str, scopes: list[str]) -> None:
    key = victim.api.new_key(scopes=scopes)["api_key"]
    for method in METHODS:
        error = refusal(call_with(victim.api, address, key, method), 403)
        assert error["data"]["code"] == "PERMISSION_DENIED"


@pytest.mark.parametrize("method", sorted({*MCP_METHODS} - {"POST"}))
@pytest.mark.parametrize("address", ADDRESSES)
def test_every_other_method_is_405_whoever_asks(victim: Tenant, address: str, method: str) -> None:
    for key in (victim.api.key, victim.ids["api_key"], "cs_wrong"):
        path = address.format(key)
        response = victim.api(method, path, key=key)
        assert (response.status_code, response.headers["allow"]) == (405, "POST")
        assert response.content == b""


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("kind", ["project key", "key of an instance"])
def test_a_tool_of_a_stranger_looks_like_one_that_is_missing(
    parts: LocalParts, victim: Tenant, stranger: Tenant, address: str, kind: str
) -> None:
    key = stranger.api.key if kind == "project key" else stranger.ids["api_key"]
    hidden = victim.api.unindexed_tool({"id": victim.ids["table_id"]}, name="only_the_victims")
    foreign = [
        "only_the_victims",
        f"search_{victim.ids['tool_id']}",
        f"secret_one_{victim.ids['tool_id']}",
        f"only_the_victims_{hidden['tool_id']}",
    ]
    missing = ["never_there", f"search_{NOWHERE}", f"secret_one_{NOWHERE}", "never_there_1"]
    before = state_without(parts, stranger.api.project_id)
    for names in zip(foreign, missing, strict=True):
        answers = [
            call_with(
                stranger.api, address, key, "tools/call", name=name, arguments={"query": "harbour"}
            )
            for name in names
        ]
        assert [response.status_code for response in answers] == [400, 400]
        reported = [r.json() for r in answers]
        for body, name in zip(reported, names, strict=True):
            body["error"]["message"] = body["error"]["message"].replace(name, "…")
        assert reported[0] == reported[1]
        assert reported[0]["error"]["code"] == -32602
    assert state_without(parts, stranger.api.project_id) == before


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_key_shows_and_calls_what_is_its_own(stranger: Tenant, address: str) -> None:
    for key, names in (
        (stranger.api.key, ["secret_one", "secret_two"]),
        (stranger.ids["api_key"], ["secret_one"]),
    ):
        listed = answer(call_with(stranger.api, address, key, "tools/list"), 200)["result"]
        assert [tool["name"] for tool in listed["tools"]] == READS + names
        call: Any = {"name": "secret_one", "arguments": {"query": "harbour"}}
        result = answer(call_with(stranger.api, address, key, "tools/call", **call), 200)["result"]
        found = {hit["chunk"]["table_id"] for hit in result["structuredContent"]["results"]}
        assert found == {stranger.ids["table_id"]}


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_of_tools_after_a_strangers_holds_only_what_is_ones_own(
    victim: Tenant, stranger: Tenant, address: str
) -> None:
    whole = answer(call_with(stranger.api, address, stranger.api.key, "tools/list"), 200)
    tools = whole["result"]["tools"]
    whole["result"]["tools"] = [tool for tool in tools if tool["name"] not in READS]
    cursor = str(victim.ids["tool_id"])
    page = call_with(stranger.api, address, stranger.api.key, "tools/list", cursor=cursor)
    assert answer(page, 200) == whole


def test_an_mcp_service_is_told_nothing_about_keys_that_open_nothing(victim: Tenant) -> None:
    keys = {
        **strange_keys(victim.api.key),
        **dead_keys(victim.api),
        "project key": victim.api.key,
        "missing": MISSING["api_key"],
    }
    keys.pop("very long")  # longer than the route takes: 422
    for kind, key in keys.items():
        response = victim.api.internally("GET", f"/internal/mcp-v2/{quote(key, safe='')}")
        assert response.status_code == 404, kind
        body = response.json()
        assert (body.pop("requestId") != "", body["code"]) == (True, "NOT_FOUND")
        assert body["detail"] == "no MCP instance has this key", kind


MAX_PAGE_BYTES = 95_000
"""An agent reads every page: 20 tools of 4 kB, and those that read."""


def test_more_tools_than_a_page_holds_are_all_listed_once_and_in_one_order(api: Api) -> None:
    table = api.table(1)
    made = [api.unindexed_tool(table, name=f"tool_{n}x")["name"] for n in range(TOOLS_PER_PAGE + 5)]
    key = api.mcp(bindings=[])["api_key"]
    for cursor_key, names in ((api.key, READS + made), (key, [])):
        seen: list[str] = []
        params: dict[str, Any] = {}
        pages = 0
        while True:
            page = answer(call_with(api, "/mcp", cursor_key, "tools/list", **params), 200)["result"]
            seen += [tool["name"] for tool in page["tools"]]
            pages += 1
            assert len(json.dumps(page)) < MAX_PAGE_BYTES
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        assert (seen, pages) == (names, 2 if names else 1)


@pytest.mark.parametrize("name", ["a\x00b", "\ud800", "秘密", "secret_one\n", "x" * 65])
def test_a_name_that_no_tool_can_have_is_unknown(victim: Tenant, name: str) -> None:
    call = {"name": name, "arguments": {"query": "harbour"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"authorization": f"Bearer {victim.api.key}", "content-type": "application/json"}
    answered = victim.api.http.post("/mcp", content=json.dumps(message), headers=headers).json()
    assert answered["error"] == {"code": -32602, "message": f"Unknown tool: {name}"}
