"""Agents find answers that no single passage holds; ``python -m bench agents`` shows the counts."""

from __future__ import annotations

import pytest

from tests.e2e.reading.asking import ask_all, furnish
from tests.e2e.running import Running, Tenant

pytestmark = [pytest.mark.stack, pytest.mark.slow]


@pytest.fixture(scope="module")
def reader(stack: Running) -> Tenant:
    """A project with the three documents."""
    tenant = stack.project()
    furnish(tenant)
    return tenant


def test_searching_alone_does_not_find_all_answers(reader: Tenant) -> None:
    outcomes = ask_all(reader, "2026-07-28", reads=False)
    assert 0 < sum(one.found for one in outcomes) < len(outcomes)
    assert not any(one.in_best_passage for one in outcomes)
