"""How many examples a property gets: a quarter in the gate, all of them in ``make simulate``."""

from __future__ import annotations

import os

from hypothesis import settings

VARIABLE = "CONTEXT_SEARCH_TEST_PROFILE"
THOROUGH = os.environ.get(VARIABLE) == "thorough"  # noqa: TID251  tests have no settings

# No test asserts on time.
settings.register_profile("gate", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile("thorough" if THOROUGH else "gate")


def examples(thorough: int) -> int:
    """Returns how many examples the loaded profile runs of a test that has this many in all."""
    return thorough * settings().max_examples // 100
