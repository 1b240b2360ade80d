"""One stack of its own for all checks of this folder; nothing here is part of ``make test``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local.options import StackOptions
from tests.conformance.node import Node, NotInstalledError, installed
from tests.e2e.library import library
from tests.e2e.running import Running, Tenant, running_stack

# The suite's DNS rebinding scenario wants the origin of the server itself to be let in.
ORIGINS = {"ALLOWED_ORIGINS": "http://127.0.0.1:* http://localhost:*"}
TOOL = "search_library"
# What a project key lists: its one Search Tool, and the tools that read.
TOOLS = {TOOL, "read", "find_text", "outline"}


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "write the answers that were given into docs/api.md"
    parser.addoption("--rewrite", action="store_true", help=text)


@pytest.fixture(scope="session")
def node() -> Node:
    try:
        return installed()
    except NotInstalledError as error:
        pytest.exit(f"error: {error}", returncode=1)


@pytest.fixture(scope="session")
def stack() -> Iterator[Running]:
    """What most checks share."""
    with running_stack(StackOptions(), **ORIGINS) as running:
        yield running


@pytest.fixture(scope="session")
def tenant(stack: Running) -> Tenant:
    """A project with one indexed Search Tool, which every check may read and none may change."""
    tenant = stack.project()
    tenant.ready(tenant.tool(tenant.table(library()), name=TOOL))
    return tenant


@pytest.fixture(scope="session")
def endpoint(tenant: Tenant) -> str:
    """The URL that takes the key in the Authorization header."""
    return f"{tenant.stack.base_url}/mcp"
