"""Three times as many strings: what people and cleanup do costs no more, in blocks that are read.

``python -m bench scale`` has the operations over indexes of any size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from context_search.adapters.postgres.indexing.rebuilds import SIZED_NODES
from context_search.adapters.postgres.pool import Database
from context_search.services.indexing.wanted import read_ahead
from testing.grown_index import GrownIndex
from testing.grown_operations import COMPARE, EDIT, PAGE, edit_one, operations
from testing.postgres_cost import Cost, measured

if TYPE_CHECKING:
    from tests.stack import DatabaseFactory

SMALL, LARGE = 20_000, 60_000
# A page is as many rows, and in the larger index each lies in a block of its own.
OWN_ROWS = {"a page of the sweep": PAGE, "hydrate 100": 400, "dry run of a rebuild": SIZED_NODES}


def costs(databases: DatabaseFactory, count: int) -> tuple[dict[str, Cost], int]:
    """What the operations cost, and how many strings are parsed and hashed after an edit."""
    with databases.migrated() as url:
        database = Database(url, statement_timeout_ms=0)
        found: dict[str, Cost] = {}
        grown = GrownIndex.of(database, count)
        for name, operation in operations(grown).items():
            operation()  # what is read once is read now
            found[name] = measured(database, operation)
        edit_one(grown, count)
        strings = compared_strings(grown)
        database.close()
    return found, strings


def compared_strings(grown: GrownIndex) -> int:
    ahead = read_ahead(grown.store, grown.index.id)
    assert ahead is not None
    return len(ahead.source.strings(ahead.of, grown.index))


def grown_blocks(costs: dict[str, Cost], name: str) -> int:
    """The blocks of an operation; a document is one row, which is written as a whole."""
    return costs[name].blocks - (costs[EDIT].blocks if name == COMPARE else 0)


@pytest.mark.slow
def test_three_times_as_many_strings_cost_no_more(databases: DatabaseFactory) -> None:
    small, strings = costs(databases, SMALL)
    large, strings_of_large = costs(databases, LARGE)
    found = {name: (grown_blocks(small, name), grown_blocks(large, name)) for name in small}
    grown = {
        name: (before, after)
        for name, (before, after) in found.items()
        if name != EDIT and after > 1.5 * before + OWN_ROWS.get(name, 0)
    }
    assert grown == {}
    assert 0 < strings_of_large <= strings < SMALL / 50
