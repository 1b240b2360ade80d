"""The life of the index under seeded faults: what must hold, holds in every history."""

from __future__ import annotations

import pytest

from tests.faults.simulation.history import run
from tests.faults.simulation.mutation import Mutation
from tests.faults.simulation.run import run_many
from tests.profile import THOROUGH

FIRST = 20
CHUNK = 100


def test_the_first_histories_hold() -> None:
    """``test_reach`` goes on with them, ``make simulate`` with five thousand."""
    for seed in range(FIRST):
        run(seed)


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize("first", range(0, 400 if THOROUGH else CHUNK, CHUNK))
def test_every_history_holds_with_the_index_of_a_project_too(first: int) -> None:
    followed = 0
    for seed in range(first, first + CHUNK):
        history = run(seed, Mutation(has_project_index=True))
        followed += any("switch project index on: done" in line for line in history.history)
    assert followed > CHUNK // 4


def test_a_seed_always_gives_the_same_history() -> None:
    assert run(17).history == run(17).history


def test_many_histories_are_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_many(0, 3, processes=1) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("3 histories hold: ")
