"""A site for the tests of one file, and processes to kill."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from context_search.core.callers import Principal
from tests.contract.turbopuffer.faulty import Faults
from tests.contract.turbopuffer.targets import running
from tests.faults.chaos.broken import Breakage, losses, victim_of
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import Kills
from tests.faults.chaos.parts import ChaosParts
from tests.faults.chaos.replacing import Writers
from tests.faults.chaos.worker_processes import WorkerProcesses, processes
from tests.stack import DatabaseFactory


@pytest.fixture(scope="module")
def deployment(
    postgres_url: str, databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """A fresh database and a fresh turbopuffer server."""
    with (
        databases.migrated() as url,
        running(tmp_path_factory.mktemp("turbopuffer")) as server,
    ):
        database_url = urlsplit(postgres_url)._replace(path=f"/{url.database}").geturl()
        made = Deployment.of(database_url, server.url)
        yield made
        made.parts.database.close()


@pytest.fixture(scope="module")
def workers(deployment: Deployment) -> Iterator[WorkerProcesses]:
    """Processes that do one order each."""
    with processes(deployment.database_url, deployment.turbopuffer_url) as found:
        yield found


@pytest.fixture
def kills(deployment: Deployment, workers: WorkerProcesses) -> Kills:
    """Processes that die at every point of an order."""
    return Kills(deployment, workers)


@pytest.fixture
def owner(deployment: Deployment) -> Principal:
    """A project of the test's own."""
    return deployment.project()


@pytest.fixture
def writers(deployment: Deployment) -> Writers:
    """Projects whose documents are replaced."""
    return Writers(deployment)


@pytest.fixture
def faults(deployment: Deployment) -> Iterator[Faults]:
    """Arms faults of the turbopuffer server; none is left after the test."""
    with httpx2.Client(base_url=deployment.turbopuffer_url) as http:
        board = Faults(http)
        yield board
        board.clear()


@pytest.fixture(scope="module")
def victim(deployment: Deployment) -> Iterator[ChaosParts]:
    """Parts whose connections can be told from all others."""
    with victim_of(deployment) as parts:
        yield parts


@pytest.fixture
def severed(deployment: Deployment, victim: ChaosParts) -> Breakage:
    """Only connections that end: these orders are killed after each COMMIT elsewhere."""
    return losses(deployment, victim)["terminated"]


@pytest.fixture(params=["terminated", "reply lost"])
def breakage(
    deployment: Deployment, victim: ChaosParts, request: pytest.FixtureRequest
) -> Breakage:
    """What they lose: a connection, or the reply to a COMMIT."""
    return losses(deployment, victim)[request.param]
