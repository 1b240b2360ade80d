"""What a process remembers of what was searched lately."""

from __future__ import annotations

from context_search.core.config import SearchConfig
from context_search.core.model import Reach
from context_search.ranking.search import Target
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.targets import KEPT_S, KEPT_TARGETS, Targets
from testing.in_memory.clock import ManualClock
from tests.builders import an_index

TARGET = Target(an_index(), Reach(""), SearchConfig(), "ready")
TOOL = SearchedTool(7, project_id=1)


def test_a_target_is_kept_for_half_a_minute_at_most() -> None:
    clock = ManualClock()
    targets = Targets(clock)
    targets.keep(TOOL, TARGET)
    clock.advance(KEPT_S - 1)
    assert targets.get(TOOL) is TARGET
    clock.advance(2)  # that it was used does not make it younger
    assert targets.get(TOOL) is None


def test_a_target_is_kept_for_its_caller_only() -> None:
    targets = Targets(ManualClock())
    targets.keep(TOOL, TARGET)
    assert targets.get(SearchedTool(7, project_id=2)) is None
    assert targets.get(SearchedTool(7, project_id=None)) is None


def test_only_so_many_targets_are_kept_and_the_newest_are() -> None:
    targets = Targets(ManualClock())
    tools = [SearchedTool(number, project_id=1) for number in range(KEPT_TARGETS + 1)]
    for tool in tools:
        targets.keep(tool, TARGET)
    kept = [tool for tool in tools if targets.get(tool)]
    assert kept == tools[1:]


def test_a_target_that_is_told_to_be_gone_is_forgotten() -> None:
    targets = Targets(ManualClock())
    targets.keep(TOOL, TARGET)
    targets.drop(TOOL)
    assert targets.get(TOOL) is None
