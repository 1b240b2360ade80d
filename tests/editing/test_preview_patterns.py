"""Previews with the engine of patterns that is shipped."""

from __future__ import annotations

import pytest

from context_search.core.errors import PatternTooSlowError
from context_search_editing.integrations.re2_patterns import Re2Patterns
from context_search_editing.previewing import PreviewLimits
from tests.editing.replacing import Desk, counts

QUADRATIC = "a.*?z|a"
"""Looks for a z from every a on."""


@pytest.mark.slow
def test_a_text_that_takes_too_long_is_left_out(memory: Desk) -> None:
    desk = memory.having(patterns=Re2Patterns())
    desk.make(["aaz", "a" * 1_000_000, "bab"])
    desk = desk.having(limits=PreviewLimits(text_s=0.5))
    plan = desk.start(QUADRATIC, "x", regex=True).plan
    assert (plan.state, plan.engine.partition(" ")[0]) == ("ready", "re2")
    assert counts(plan) == (1, 2, 2)
    assert plan.counts.left_out.too_slow == 1
    [matches] = [desk.matches.page(desk.principal, plan.id).rows]
    assert [match.json_pointer for match in matches] == ["/0", "/2"]


@pytest.mark.slow
def test_a_pattern_that_is_too_slow_everywhere_ends_the_plan(memory: Desk) -> None:
    desk = memory.having(patterns=Re2Patterns())
    desk.make(*["a" * 1_000_000] * 3)
    desk = desk.having(limits=PreviewLimits(text_s=0.2, queue_text_s=0.2))
    with pytest.raises(PatternTooSlowError):
        desk.start(QUADRATIC, "x", regex=True)
    [failed] = desk.previews.page(desk.principal, below=None).rows
    assert desk.failure(failed)["code"] == "PATTERN_TOO_SLOW"
    queued = desk.having(limits=PreviewLimits(bytes=0)).start(QUADRATIC, "x", regex=True)
    assert desk.previews.run(queued.plan.id) == "failed"
    assert desk.failure(queued.plan)["code"] == "PATTERN_TOO_SLOW"
