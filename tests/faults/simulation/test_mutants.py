"""The simulation sees: every faulty variant of the design is caught."""

from __future__ import annotations

import pytest

from tests.faults.simulation.history import first_violation
from tests.faults.simulation.mutants import MUTANTS
from tests.faults.simulation.mutation import Mutation
from tests.faults.simulation.record import with_seed


@pytest.mark.slow
@pytest.mark.timeout(600)  # one whose recorded seed is stale looks at many histories
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_faulty_variant_is_caught(mutant: Mutation) -> None:
    assert first_violation([mutant.seed, *range(mutant.within)], mutant)


def test_a_broken_history_is_told_and_can_be_replayed() -> None:
    [mutant] = [each for each in MUTANTS if each.name == "vectors before their rows"]
    reported = str(first_violation([mutant.seed, *range(mutant.within)], mutant))
    *history, how, what = reported.splitlines()
    assert any(line.endswith(": starts") for line in history)
    assert how == f"replay it: make simulate SEED={what.split()[1].strip(':')}"
    assert "I3 unknown document" in what


@pytest.mark.parametrize("own", ["", ", seed=1_000", ", within=9, seed=3"])
def test_a_seed_is_recorded_for_its_variant_alone(own: str) -> None:
    before, after = 'Mutation("a", seed=5)', 'Mutation("c")'
    recorded = with_seed(f'{before},\n    Mutation("b"{own}),\n    {after}', "b", 7_000)
    expected = own.partition(", seed")[0] + ", seed=7_000"
    assert recorded == f'{before},\n    Mutation("b"{expected}),\n    {after}'
