"""Agents find answers that no single passage holds; ``python -m bench agents`` shows the counts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.e2e.reading.asking import Outcome, ask_all, furnish
from tests.e2e.running import Running, Tenant

pytestmark = [pytest.mark.stack, pytest.mark.slow]


@pytest.fixture(scope="module")
def agents(stack: Running) -> Mapping[str, Tenant]:
    """A project with the three documents, seen by its key and by instances."""
    tenant = stack.project()
    tools = furnish(tenant)
    return {
        "project": tenant,
        "named": tenant.mcp(*tools),
        "single": tenant.mcp(*tools, tools="single"),
    }


@pytest.fixture(scope="module")
def searched(agents: Mapping[str, Tenant]) -> list[Outcome]:
    """What comes of searching alone."""
    return ask_all(agents["project"], "2026-07-28", reads=False)


def test_searching_alone_does_not_find_all_answers(searched: list[Outcome]) -> None:
    assert 0 < sum(one.found for one in searched) < len(searched)
    assert not any(one.in_best_passage for one in searched)


@pytest.mark.parametrize("offered", ["project", "named", "single"])
def test_an_agent_that_reads_finds_all_answers_in_less_text(
    agents: Mapping[str, Tenant], searched: list[Outcome], offered: str
) -> None:
    outcomes = ask_all(agents[offered], "2026-07-28", reads=True)
    assert [one.question.text for one in outcomes if not one.found] == []
    assert sum(one.calls for one in outcomes) < sum(one.calls for one in searched)
    read, before = (sum(one.result_bytes for one in each) for each in (outcomes, searched))
    assert read < before / 2
