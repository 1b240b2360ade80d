"""How many examples a property gets: all in ``make simulate``, a quarter in the gate.

In ``make unit`` it is a tenth.
"""

from __future__ import annotations

import os

from hypothesis import settings

VARIABLE = "CONTEXT_SEARCH_TEST_PROFILE"
NAME = os.environ.get(VARIABLE, "gate")  # noqa: TID251  tests have no settings
THOROUGH = NAME == "thorough"

# No test asserts on time.
for name, max_examples in (("unit", 10), ("gate", 25), ("thorough", 100)):
    settings.register_profile(name, deadline=None, max_examples=max_examples)
settings.load_profile(NAME)


def examples(thorough: int) -> int:
    """Returns how many examples the loaded profile runs of a test that has this many in all."""
    return max(1, thorough * settings().max_examples // 100)
