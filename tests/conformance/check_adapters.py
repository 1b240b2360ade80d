"""The MCP adapters of LangChain and LlamaIndex: they list tools, search, and read an error."""

from __future__ import annotations

import json
import subprocess

import pytest

from local.options import ROOT
from tests.conformance.check_clients import QUESTION, check_answer
from tests.conformance.conftest import TOOL, TOOLS
from tests.conformance.node import HERE
from tests.e2e.running import Tenant, user_environment

WITHIN_S = 60


@pytest.mark.parametrize(
    ("adapter", "environment"), [("langchain", ".venv-clients"), ("llama", ".venv-llama")]
)
def test_an_adapter_searches_and_reads_an_error(
    tenant: Tenant, endpoint: str, adapter: str, environment: str
) -> None:
    program = [str(ROOT / environment / "bin/python"), str(HERE / "adapter_client.py")]
    done = subprocess.run(  # noqa: S603 - our own fixed command
        [*program, adapter, endpoint, tenant.key, TOOL, QUESTION],
        env={**user_environment(), "NO_PROXY": "127.0.0.1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["tools"].keys() == TOOLS
    assert seen["tools"][TOOL] == ["query", "top_k"]
    schemas = {tool.name: tool.output_schema for tool in tenant.list_tools("legacy")}
    check_answer(seen["structured"], schemas[TOOL])
    assert json.loads(seen["found"]) == seen["structured"]
    assert seen["statuses"] == ["success", "error"]
    refused = json.loads(seen["refused"])
    assert (refused["code"], refused["retryable"]) == ("INVALID_INPUT", False)
    assert "from 1 to 20" in refused["message"]
