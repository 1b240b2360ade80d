"""What a revision required when it was released: the suite's frozen lists, counted by scenario.

The suite scores a scenario only if all its checks pass, whatever a server offers. A server of tools
alone cannot reach all of them, so docs/mcp.md publishes the counts; these tests keep it true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml

from local.options import ROOT
from tests.conformance.check_official_suite import PROGRAM, REVISIONS
from tests.conformance.fixture import fixture_toolbox
from tests.conformance.node import HERE, WORK, Node
from tests.e2e.running import Tenant
from tests.mcp.asgi import mcp_app, serving

_SCORED = re.compile(r"^([✓✗]) (\S+): \d+ passed, \d+ failed$", re.MULTILINE)
_NOT_SCORED = re.compile(r"^  [✓✗] (\S+) \(", re.MULTILINE)
_ROW = r"^\| {} \| (\d+) \| (\d+) \| (\d+) \|$"


def required(node: Node, url: str, revision: str) -> Mapping[str, bool]:
    """Each scenario of a revision's list → whether all its checks passed."""
    output = WORK / "results" / f"required-{revision}"
    arguments = ["server", "--url", url, "--requirements", revision, "--output-dir", str(output)]
    done = node.run(PROGRAM, *arguments, within_s=300)
    _, _, summary = done.stdout.partition("=== SUMMARY ===")
    optional = set(_NOT_SCORED.findall(summary))
    found = {name: mark == "✓" for mark, name in _SCORED.findall(summary)}
    return {name: passed for name, passed in found.items() if name not in optional}


def check(scenarios: Mapping[str, bool], revision: str, column: int, *groups: str) -> None:
    """The counts are the published ones, and each failure has a reason in expected-failures.yml."""
    text = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    [published] = re.findall(_ROW.format(re.escape(revision)), text, re.MULTILINE)
    counted = {0: len(scenarios), column: sum(scenarios.values())}
    assert counted == {0: int(published[0]), column: int(published[column])}
    expected = yaml.safe_load((HERE / "expected-failures.yml").read_text("utf-8"))
    explained = {check.partition(":")[0] for group in groups for check in expected[group]}
    assert {name for name, passed in scenarios.items() if not passed} <= explained


@REVISIONS
def test_the_endpoint_passes_as_many_as_published(node: Node, revision: str) -> None:
    with serving(mcp_app(fixture_toolbox())) as url:
        check(required(node, url, revision), revision, 1, "always")


@REVISIONS
def test_the_stack_passes_as_many_as_published(node: Node, tenant: Tenant, revision: str) -> None:
    url = f"{tenant.stack.base_url}/api/v1/mcp/server/{tenant.key}"
    check(required(node, url, revision), revision, 2, "always", "without-fixture")
