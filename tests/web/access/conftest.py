"""Everything here runs on PostgreSQL with row-level security.

Where a request is refused before the store is asked for more than a key (``sampled``), the gate
tries some routes, and ``make simulate`` each one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.issuer import Issuer, running_issuer
from tests.profile import THOROUGH
from tests.web.access.things import Tenant, things_of
from tests.web.api import Api, LocalParts

EVERY = 4
"""Of so many routes one."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what the gate does not try."""
    seen: Counter[str] = Counter()
    left_out = [] if THOROUGH else [item for item in items if _is_left_out(item, seen)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def _is_left_out(item: pytest.Item, seen: Counter[str]) -> bool:
    """Each test keeps the first of its own routes, and every fourth behind it."""
    if not item.get_closest_marker("sampled"):
        return False
    test = item.nodeid.partition("[")[0]
    seen[test] += 1
    return seen[test] % EVERY != 1


@pytest.fixture(scope="module")
def victim(reader: Api, parts: LocalParts) -> Tenant:
    """A project with one of everything, in which nothing ever changes."""
    return Tenant(reader, things_of(reader, parts.work, changes=3))


@pytest.fixture(scope="module")
def stranger(victim: Tenant, parts: LocalParts) -> Tenant:
    """Another such project, younger than the first."""
    api = victim.api.stranger()
    return Tenant(api, things_of(api, parts.work))


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with running_issuer() as issuer:
        yield issuer
