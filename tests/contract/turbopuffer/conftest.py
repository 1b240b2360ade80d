"""The services that the contract is checked on."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from turbopuffer import Turbopuffer

from tests.contract.turbopuffer.faulty import Faults
from tests.contract.turbopuffer.targets import (
    KEY,
    LOCAL_URL,
    SERVICE_URL,
    LocalServer,
    Namespace,
    Target,
    connected,
    real_service,
    running,
    upsert,
)


@pytest.fixture(scope="session")
def local_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """One server for the whole run."""
    with running(tmp_path_factory.mktemp("turbopuffer")) as server:
        yield server


@pytest.fixture(scope="session", params=["local", "service"])
def connection(request: pytest.FixtureRequest) -> Iterator[Target]:
    """The local server, and the real service where the environment names one."""
    if request.param == "local":
        place, (key, region) = LOCAL_URL, (KEY, request.getfixturevalue("local_server").address)
    elif real := real_service():
        place, (key, region) = SERVICE_URL, real
    else:
        pytest.skip("no TURBOPUFFER_API_KEY and TURBOPUFFER_REGION")
    headers = {"Authorization": f"Bearer {key}"}
    with (
        Turbopuffer(api_key=key, base_url=place, region=region) as client,
        httpx2.Client(base_url=place.format(region=region), headers=headers, timeout=60) as http,
    ):
        yield Target(client, http, is_local=request.param == "local")


@pytest.fixture
def target(connection: Target) -> Iterator[Target]:
    """A service; namespaces made through it are deleted after the test."""
    with connection.borrowed() as target:
        yield target


@pytest.fixture(scope="module")
def shared_target(connection: Target) -> Iterator[Target]:
    """The same for namespaces that the tests of one module only read."""
    with connection.borrowed() as target:
        yield target


@pytest.fixture(scope="module")
def one_document(shared_target: Target) -> Namespace:
    """A namespace in which the document "1" stays the only one."""
    namespace = shared_target.namespace()
    upsert(namespace, {"id": "1", "n": 1, "tags": ["a"], "content": ["x"]})
    return namespace


@pytest.fixture
def namespace(target: Target) -> Namespace:
    """A namespace of the service that does not exist yet."""
    return target.namespace()


@pytest.fixture
def impatient_client(local_server: LocalServer) -> Iterator[Turbopuffer]:
    """A client of the local server that never retries."""
    with connected(local_server, max_retries=0) as client:
        yield client


@pytest.fixture
def faults(local_server: LocalServer) -> Iterator[Faults]:
    """Arms faults of the local server; none is left after the test."""
    with httpx2.Client(base_url=local_server.url) as http:
        board = Faults(http)
        yield board
        board.clear()
