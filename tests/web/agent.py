"""An agent with a key of an MCP instance, as its client speaks for it, in both eras."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import httpx2

from tests.web.api import Api, answer

Era = Literal["2026-07-28", "2025-11-25"]
READS = ["read", "find_text", "outline"]
"""The tools that read, in their order."""
FORMS: Mapping[str, object] = {"elicitation": {"form": {}}}


@dataclass(frozen=True)
class Agent:
    """``capabilities`` are what the client says it can do; only the modern era asks for them."""

    api: Api
    mcp: Mapping[str, Any]
    era: Era = "2026-07-28"
    capabilities: Mapping[str, object] | None = None

    def with_forms(self) -> Agent:
        """The same with a client that takes forms."""
        return replace(self, era="2026-07-28", capabilities=FORMS)

    def send(self, method: str, **params: Any) -> httpx2.Response:
        """One request."""
        headers = {"mcp-protocol-version": self.era, "mcp-method": method}
        if "name" in params:
            headers["mcp-name"] = params["name"]
        if self.era == "2026-07-28":
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.era,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities or {},
            }
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        key, content = self.mcp["api_key"], json.dumps(body)
        return self.api("POST", "/mcp", key=key, content=content, headers=headers)

    def listed(self) -> dict[str, dict[str, Any]]:
        """The tools that it sees, by name."""
        tools = answer(self.send("tools/list"), 200)["result"]["tools"]
        return {tool["name"]: tool for tool in tools}

    def result(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """What a call gives back, whatever it is."""
        response = self.send("tools/call", name=tool, arguments=dict(arguments), **more)
        result: dict[str, Any] = answer(response, 200)["result"]
        return result

    def done(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """The structured content of a call that worked."""
        result = self.result(tool, arguments, **more)
        assert result["isError"] is False, result
        content: dict[str, Any] = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == content
        return content

    def refused(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """The report of a call that failed."""
        result = self.result(tool, arguments, **more)
        assert result["isError"] is True, result
        report: dict[str, Any] = json.loads(result["content"][0]["text"])
        return report

    def error(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """The JSON-RPC error of a call."""
        response = self.send("tools/call", name=tool, arguments=dict(arguments), **more)
        error: dict[str, Any] = response.json()["error"]
        return error

    def previewed(self, find: str, replace_with: str, **more: Any) -> dict[str, Any]:
        """A preview."""
        arguments = {"find": find, "replace_with": replace_with, **more}
        return self.done("replace_preview", arguments)

    def allow(self, **changes: Any) -> None:
        """Changes the instance, as its owner."""
        answer(self.api("PATCH", f"/api/v1/mcps/{self.mcp['id']}", json=changes), 200)


def named(plan: Mapping[str, Any]) -> dict[str, Any]:
    """What names a plan to ``replace_execute``."""
    return {"plan_id": plan["plan_id"], "digest": plan["digest"]}


def agent(api: Api, *tools: dict[str, Any], **opted_in: Any) -> Agent:
    """An agent with tools, whose instance has opted in."""
    return Agent(api, api.mcp(*tools, **{"replace": "execute", "confirm": "client", **opted_in}))


def data_of(api: Api, table: Mapping[str, Any]) -> Any:
    """A table's document, as its owner reads it."""
    return api("GET", f"/api/v1/tables/{table['id']}/data").json()
