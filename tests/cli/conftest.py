"""A command line for each test, with a project of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI

from context_search.postgres.pool import Database
from context_search.web.app import http_app
from context_search.web.openapi import contract, every_router
from tests.cli.running import CliParts, CommandLine, Network
from tests.web.api import Api
from tests.web.in_process import InProcess, client_of


@pytest.fixture(scope="module")
def parts(application_database: Database, turbopuffer_url: str) -> CliParts:
    """With the rights that deployed functions have."""
    return CliParts(application_database, turbopuffer_url)


@pytest.fixture(scope="module")
def app(parts: CliParts) -> FastAPI:
    """The whole API."""
    return app_of(parts)


@pytest.fixture
def cli(parts: CliParts, app: FastAPI, tmp_path: Path) -> CommandLine:
    """A user of a new project."""
    return command_line(parts, app, tmp_path)


def app_of(parts: CliParts) -> FastAPI:
    """The whole API over other parts."""
    return http_app(every_router(), parts.use_cases, contract=contract)


def command_line(parts: CliParts, app: FastAPI, folder: Path) -> CommandLine:
    """A user of a new project, with a folder of his own."""
    network = Network(InProcess(app), parts.objects)
    with client_of(app) as http:
        project = Api.of_new_project(http, parts)
    return CommandLine(parts, network, folder, project.project_id, project.key)
