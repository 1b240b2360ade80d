"""A command line for each test, with a project of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from context_search.adapters.postgres.pool import Database
from context_search.web.app import http_app
from context_search.web.openapi import contract, every_router
from tests.cli.running import CliParts, CommandLine, Network
from tests.web.api import Api
from tests.web.conftest import turbopuffer_url
from tests.web.in_process import InProcess, client_of

__all__ = ["turbopuffer_url"]


@pytest.fixture(scope="module")
def parts(application_database: Database, turbopuffer_url: str) -> CliParts:
    """With the rights that deployed functions have."""
    return CliParts(application_database, turbopuffer_url)


@pytest.fixture
def cli(parts: CliParts, tmp_path: Path) -> CommandLine:
    """A user of a new project."""
    return command_line(parts, tmp_path)


def command_line(parts: CliParts, folder: Path) -> CommandLine:
    """A user of a new project, with a folder of his own."""
    app = http_app(every_router(), parts, contract=contract)
    network = Network(InProcess(app), parts.objects)
    with client_of(app) as http:
        project = Api.of_new_project(http, parts)
    return CommandLine(parts, network, folder, project.project_id, project.key)
