"""What a process remembers of what was searched lately."""

from __future__ import annotations

from context_search.domain.config import SearchConfig
from context_search.domain.model import Reach
from context_search.services.searching.answer import Target
from context_search.services.searching.targets import KEPT_S, KEPT_TARGETS, Targets
from testing.in_memory.clock import ManualClock
from tests.builders import an_index

TARGET = Target(an_index(), Reach(""), SearchConfig(), "ready")


def test_a_target_is_kept_for_half_a_minute_at_most() -> None:
    clock = ManualClock()
    targets = Targets(clock)
    targets.keep("tool", TARGET)
    clock.advance(KEPT_S - 1)
    assert targets.get("tool") is TARGET
    clock.advance(2)  # that it was used does not make it younger
    assert targets.get("tool") is None


def test_only_so_many_targets_are_kept_and_the_newest_are() -> None:
    targets = Targets(ManualClock())
    for number in range(KEPT_TARGETS + 1):
        targets.keep(number, TARGET)
    kept = [number for number in range(KEPT_TARGETS + 1) if targets.get(number)]
    assert len(kept) == KEPT_TARGETS
    assert 0 not in kept


def test_a_target_that_is_told_to_be_gone_is_forgotten() -> None:
    targets = Targets(ManualClock())
    targets.keep("tool", TARGET)
    targets.keep("tool", None)
    assert targets.get("tool") is None
