"""What an adapter makes of an endpoint's tools, as one JSON object on stdout.

    python adapter_client.py langchain|llama URL KEY TOOL QUERY

Runs in ``.venv-clients`` (LangChain, ``mcp`` 1) or ``.venv-llama`` (LlamaIndex, ``mcp`` 2).
"""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import Any

Seen = dict[str, Any]


async def langchain(url: str, key: str, name: str, query: str) -> Seen:
    """As an agent of LangChain or LangGraph sees it: messages, one of them of an error."""
    made = import_module("langchain_mcp_adapters.client").MultiServerMCPClient(
        {
            "documents": {
                "transport": "streamable_http",
                "url": url,
                "headers": {"Authorization": f"Bearer {key}"},
            }
        }
    )
    tools = {tool.name: tool for tool in await made.get_tools()}

    async def call(**arguments: object) -> Any:
        asked = {"type": "tool_call", "id": "1", "name": name, "args": arguments}
        return await tools[name].ainvoke(asked)

    found = await call(query=query)
    refused = await call(query=query, top_k=21)
    return {
        "tools": {tool.name: sorted(tool.args) for tool in tools.values()},
        "found": found.content[0]["text"],
        "structured": found.artifact["structured_content"],
        "statuses": [found.status, refused.status],
        "refused": refused.content[0]["text"],
    }


async def llama(url: str, key: str, name: str, query: str) -> Seen:
    """As an agent of LlamaIndex sees it: outputs, made of the client's results."""
    module = import_module("llama_index.tools.mcp")
    client = module.BasicMCPClient(url, headers={"Authorization": f"Bearer {key}"})
    made = await module.McpToolSpec(client=client).to_tool_list_async()
    tools = {tool.metadata.name: tool for tool in made}
    found = (await tools[name].acall(query=query)).raw_output
    refused = (await tools[name].acall(query=query, top_k=21)).raw_output
    return {
        "tools": {
            each: sorted(tool.metadata.get_parameters_dict()["properties"])
            for each, tool in tools.items()
        },
        "found": found.content[0].text,
        "structured": found.structured_content,
        "statuses": ["error" if each.is_error else "success" for each in (found, refused)],
        "refused": refused.content[0].text,
    }


if __name__ == "__main__":
    adapter = {"langchain": langchain, "llama": llama}[sys.argv[1]]
    print(json.dumps(asyncio.run(adapter(*sys.argv[2:]))))  # noqa: T201 - what it is for
