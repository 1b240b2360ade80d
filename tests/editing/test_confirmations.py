"""States of questions: forged, foreign, of something else, too old."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.callers import McpKey
from context_search_editing.agents.confirmations import (
    ANSWERED_WITHIN_S,
    Confirmations,
    PlanOperation,
)
from testing.in_memory.clock import ManualClock

ASKED = McpKey(1, 3)
OPERATION = PlanOperation("execute", 31, bytes(16))


def confirmations(key: str = "key", clock: ManualClock | None = None) -> Confirmations:
    return Confirmations(key, clock or ManualClock())


def test_a_state_is_good_for_what_was_asked() -> None:
    asking = confirmations()
    state = asking.state_of(ASKED, OPERATION)
    assert asking.is_good(state, ASKED, OPERATION)
    assert confirmations().is_good(state, ASKED, OPERATION), "another process has the same key"


@pytest.mark.parametrize(
    "asked",
    [
        (McpKey(1, 4), OPERATION),
        (McpKey(2, 3), OPERATION),
        (ASKED, PlanOperation("undo", 31, bytes(16))),
        (ASKED, replace(OPERATION, plan_id=32)),
        (ASKED, replace(OPERATION, digest=bytes(15) + b"\x01")),
    ],
    ids=["another instance", "another project", "another act", "another plan", "another digest"],
)
def test_a_state_is_good_for_nothing_else(asked: tuple[McpKey, PlanOperation]) -> None:
    asking = confirmations()
    assert not asking.is_good(asking.state_of(ASKED, OPERATION), *asked)


def test_a_state_ends() -> None:
    clock = ManualClock()
    asking = confirmations(clock=clock)
    state = asking.state_of(ASKED, OPERATION)
    clock.advance(ANSWERED_WITHIN_S - 1)
    assert asking.is_good(state, ASKED, OPERATION)
    clock.advance(1)
    assert not asking.is_good(state, ASKED, OPERATION)


def test_nobody_makes_one_or_lets_one_last_longer() -> None:
    asking = confirmations()
    state = asking.state_of(ASKED, OPERATION)
    ends_at, _, signature = state.partition(".")
    forged = [
        "",
        ".",
        "0",
        f"{int(ends_at) + 1}.{signature}",
        f"0{ends_at}.{signature}",
        f"{ends_at}.{signature[:-1]}{'1' if signature[-1] == '0' else '0'}",
        f"{ends_at}.{'0' * 64}",
        f"{state}-TAMPERED",
        f" {state}",
        f"{state}\n",
        "٣" * 10 + f".{signature}",
        confirmations("other key").state_of(ASKED, OPERATION),
    ]
    assert [each for each in forged if asking.is_good(each, ASKED, OPERATION)] == []
