"""Clients off the shelf against the stack: Python, TypeScript (both lines), the Inspector's CLI."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.conformance.conftest import TOOL, TOOLS
from tests.conformance.node import Completed, Node
from tests.e2e.library import COMETS, QUESTIONS, check_hit, library
from tests.e2e.running import Era, Tenant

INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
QUESTION = QUESTIONS[COMETS]


def check_answer(answer: Any, schema: Any) -> None:
    """The planted sentence is the best hit, and the answer is what the tool promises."""
    jsonschema.Draft202012Validator(schema).validate(answer)
    assert COMETS in answer["results"][0]["chunk"]["chunk_text"]
    for hit in answer["results"]:
        check_hit(library(), hit)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_the_python_client(tenant: Tenant, era: Era) -> None:
    tools = {tool.name: tool for tool in tenant.list_tools(era)}
    assert tools.keys() == TOOLS
    result = tenant.call_tool(era, TOOL, {"query": QUESTION})
    check_answer(result.structured_content, tools[TOOL].output_schema)


@pytest.mark.parametrize(
    ("sdk", "mode", "version"),
    [
        ("v1", "legacy", "2025-11-25"),
        ("v2", "legacy", "2025-11-25"),
        ("v2", "auto", "2026-07-28"),
        ("v2", "2026-07-28", "2026-07-28"),
    ],
)
def test_the_typescript_clients(
    node: Node, tenant: Tenant, endpoint: str, sdk: str, mode: str, version: str
) -> None:
    done = node.run("client.mjs", sdk, mode, endpoint, tenant.key, TOOL, QUESTION)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["version"], seen["server"]["name"]) == (version, "context-search")
    tools = {tool["name"]: tool for tool in seen["tools"]}
    assert tools.keys() == TOOLS
    check_answer(seen["found"]["structuredContent"], tools[TOOL]["outputSchema"])
    assert seen["refused"]["isError"] is True
    assert seen["unknown"] == -32602


def inspect(node: Node, endpoint: str, key: str, *arguments: str) -> Completed:
    options = ("--cli", endpoint, "--transport", "http", "--header", f"Authorization: Bearer {key}")
    return node.run(INSPECTOR, *options, *arguments)


def test_the_inspector_lists_portable_schemas(node: Node, tenant: Tenant, endpoint: str) -> None:
    done = inspect(node, endpoint, tenant.key, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    assert {tool["name"] for tool in json.loads(done.stdout)["tools"]} == TOOLS


def test_the_inspector_calls_a_tool(node: Node, tenant: Tenant, endpoint: str) -> None:
    call = ("--method", "tools/call", "--tool-name", TOOL, "--tool-arg", f"query={QUESTION}")
    done = inspect(node, endpoint, tenant.key, *call)
    assert done.returncode == 0, done.stderr
    assert COMETS in done.stdout


def test_the_inspector_is_refused_without_a_key(node: Node, endpoint: str) -> None:
    assert inspect(node, endpoint, "cs_wrong", "--method", "tools/list").returncode != 0
