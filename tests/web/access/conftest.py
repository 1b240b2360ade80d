"""Everything here runs on rows in memory, and on PostgreSQL with row-level security."""

from __future__ import annotations

import pytest

from tests.web.access.stores import MemoryParts
from tests.web.access.things import Tenant, things_of
from tests.web.api import Api, LocalParts


@pytest.fixture(
    scope="module", params=["memory", pytest.param("postgres", marks=pytest.mark.stack)]
)
def parts(request: pytest.FixtureRequest) -> LocalParts:
    """The parts of all functions over one of the two stores."""
    if request.param == "memory":
        return MemoryParts()
    database = request.getfixturevalue("application_database")
    return LocalParts(database, request.getfixturevalue("turbopuffer_url"))


@pytest.fixture(scope="module")
def victim(reader: Api, parts: LocalParts) -> Tenant:
    """A project with one of everything, in which nothing ever changes."""
    return Tenant(reader, things_of(reader, parts.work, changes=3))


@pytest.fixture(scope="module")
def stranger(victim: Tenant, parts: LocalParts) -> Tenant:
    """Another such project, younger than the first."""
    api = victim.api.stranger()
    return Tenant(api, things_of(api, parts.work))
