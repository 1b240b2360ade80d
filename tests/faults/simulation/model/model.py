"""What every repository of the model has in common."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from context_search.integrations.ports import Clock
from tests.faults.simulation.model.rows import Rows

Times = Iterator[datetime]
"""When a repository has work."""


class Model:
    """Rows in dictionaries in the place of a database.

    A repository of the model overrides the methods that the simulation runs; any other one fails at
    once, because it has no transaction.
    """

    rows: Rows
    clock: Clock

    def __init__(self, rows: Rows, clock: Clock) -> None:
        vars(self).update(rows=rows, clock=clock)
