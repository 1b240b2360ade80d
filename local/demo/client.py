"""What a user does: imports by the command line's own code, asks by httpx and the MCP client."""

from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from context_search_cli.command import Session, World
from context_search_cli.config import KEY, URL
from context_search_cli.importing import Target, bring, measured
from context_search_cli.output import Output

TIMEOUT_S = 60
IMPORT_TIMEOUT_S = 600.0


class ApiError(Exception):
    """The API answered with a problem; the message is what it said."""


class Api:
    """The HTTP API with one project's key."""

    def __init__(self, base_url: str, api_key: str) -> None:
        headers = {"authorization": f"Bearer {api_key}"}
        self._http = httpx2.Client(base_url=base_url, headers=headers, timeout=TIMEOUT_S)

    def post(self, path: str, body: object) -> dict[str, Any]:
        """Returns the JSON of a 2xx answer. Raises ApiError."""
        return _answer(self._http.post(path, json=body))

    def get(self, path: str) -> dict[str, Any]:
        """Returns the JSON of a 2xx answer. Raises ApiError."""
        return _answer(self._http.get(path))

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def text(self, path: str) -> str:
        """Returns a 2xx answer as it came. Raises ApiError."""
        reply = self._http.get(path)
        _answer(reply)
        return reply.text


def create_project(base_url: str, internal_secret: str) -> dict[str, Any]:
    """Returns a new project with its key, as the platform's own services make one."""
    headers = {"x-internal-secret": internal_secret}
    reply = httpx2.post(f"{base_url}/api/v1/projects", json={"name": "demo"}, headers=headers)
    return _answer(reply)


def import_document(base_url: str, api_key: str, content: bytes) -> int:
    """Returns the id of a new table with this JSON: in a request if it fits, else by upload.

    Raises CommandError, the table is then gone again.
    """
    world = World({URL: base_url, KEY: api_key}, Path.cwd())
    session = Session(world, Output(as_json=False, quiet=False))
    source = measured(io.BytesIO(content), "the document", is_jsonl=False)
    with closing(session.client):
        table = bring(session, source, Target(name="demo"), wait=True, timeout_s=IMPORT_TIMEOUT_S)
    return int(table["id"])


def _answer(reply: httpx2.Response) -> dict[str, Any]:
    if reply.is_success:
        return dict(reply.json())
    raise ApiError(f"{reply.status_code}: {reply.text[:500]}")


async def ask(mcp_url: str, api_key: str, questions: list[str], top_k: int) -> list[dict[str, Any]]:
    """Asks the first Search Tool of an MCP server and returns its structured answers."""
    headers = {"authorization": f"Bearer {api_key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S) as http_client:
        transport = streamable_http_client(mcp_url, http_client=http_client)
        async with Client(transport) as client:
            tools = (await client.list_tools()).tools
            tool = next(each for each in tools if "query" in each.input_schema["properties"])
            answers = []
            for question in questions:
                arguments = {"query": question, "top_k": top_k}
                result = await client.call_tool(tool.name, arguments)
                if result.is_error:
                    raise ApiError(str(result.content))
                answers.append(dict(result.structured_content or {}))
            return answers
