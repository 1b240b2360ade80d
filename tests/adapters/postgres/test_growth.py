"""Three times as many strings: what people and cleanup do costs no more, in blocks that are read.

``python -m bench scale`` has the operations over indexes of any size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from context_search.adapters.postgres.indexing.rebuilds import SIZED_NODES
from context_search.adapters.postgres.pool import Database
from testing.grown_index import GrownIndex
from testing.grown_operations import PAGE, operations
from testing.postgres_cost import Cost, measured

if TYPE_CHECKING:
    from tests.stack import DatabaseFactory

SMALL, LARGE = 20_000, 60_000
# A page is as many rows, and in the larger index each lies in a block of its own.
OWN_ROWS = {"a page of the sweep": PAGE, "hydrate 100": 400, "dry run of a rebuild": SIZED_NODES}
# It reads the document and every string of it.
GROWS = {"compare after an edit of one string"}


def costs(databases: DatabaseFactory, count: int) -> dict[str, Cost]:
    with databases.migrated() as url:
        database = Database(url, statement_timeout_ms=0)
        found: dict[str, Cost] = {}
        for name, operation in operations(GrownIndex.of(database, count)).items():
            operation()  # what is read once is read now
            found[name] = measured(database, operation)
        database.close()
    return found


@pytest.mark.slow
def test_three_times_as_many_strings_cost_no_more(databases: DatabaseFactory) -> None:
    small, large = costs(databases, SMALL), costs(databases, LARGE)
    grown = {
        name: (small[name].blocks, large[name].blocks)
        for name in small
        if name not in GROWS
        and large[name].blocks > 1.5 * small[name].blocks + OWN_ROWS.get(name, 0)
    }
    assert grown == {}
