"""The official MCP conformance suite, every server scenario of both revisions.

It cannot send an Authorization header, so the stack is asked where the key is in the path. Some
scenarios call tools by name; those are served beside it, from the same endpoint code.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.conformance.fixture import fixture_toolbox
from tests.conformance.node import HERE, WORK, Node
from tests.e2e.running import Tenant
from tests.mcp.asgi import mcp_app, serving

PROGRAM = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
REVISIONS = pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])


def suite(node: Node, url: str, revision: str, *groups: str) -> None:
    """Runs all scenarios; exactly the checks expected to fail, each with its reason, may fail."""
    expected = yaml.safe_load((HERE / "expected-failures.yml").read_text("utf-8"))
    name = f"{revision}-{len(groups)}"
    baseline = WORK / f"baseline-{name}.yml"
    baseline.write_text(
        yaml.safe_dump({"server": [one for key in groups for one in expected[key]]})
    )
    output = WORK / "results" / name
    shutil.rmtree(output, ignore_errors=True)
    arguments = ["server", "--url", url, "--suite", "all", "--spec-version", revision]
    arguments += ["--expected-failures", str(baseline), "--output-dir", str(output)]
    done = node.run(PROGRAM, *arguments, within_s=300)
    assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-2_000:]
    assert passed(output) > 20


def passed(output: Path) -> int:
    """How many checks succeeded, by the suite's own files."""
    return sum(text.read_text().count('"SUCCESS"') for text in output.rglob("checks.json"))


@REVISIONS
def test_the_stack_passes(node: Node, tenant: Tenant, revision: str) -> None:
    url = f"{tenant.stack.base_url}/api/v1/mcp/server/{tenant.key}"
    suite(node, url, revision, "always", "without-fixture")


@REVISIONS
def test_the_endpoint_passes_with_the_tools_that_scenarios_call(node: Node, revision: str) -> None:
    with serving(mcp_app(fixture_toolbox())) as url:
        suite(node, url, revision, "always")
