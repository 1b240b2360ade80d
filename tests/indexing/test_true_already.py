"""A message to compare what is compared already costs one small statement, and reads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pytest

from context_search.core.config import Model
from context_search.core.errors import DatabaseUnavailableError
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.project_index import ProjectIndexes
from context_search.store import UnitOfWork
from tests.stores import StoreInFront
from tests.system import SILENT_S, System, prose


@dataclass
class Counting(StoreInFront):
    """A store that counts transactions, and is away after so many."""

    allowed: int
    transactions: int = 0

    @contextmanager
    def around(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        self.transactions += 1
        if self.transactions > self.allowed:
            raise DatabaseUnavailableError("too many")
        with opened as work:
            yield work


@pytest.mark.parametrize("of_project", [False, True])
def test_it_is_asked_first_and_once(of_project: bool) -> None:  # noqa: FBT001
    system = System()
    system.model_store.rows.projects[system.principal.project_id] = "p"
    table = system.table({"a": prose(300)})
    index_id = system.tool(table).index.id
    if of_project:
        model = Model(system.config.model, system.config.dimensions)
        indexes = ProjectIndexes(system.store, model, SILENT_S)
        index_id = indexes.switch_on(system.principal).index.id
    counting = Counting(system.store, allowed=1)
    compare = Comparer(counting, system.completion, Limits()).compare
    if of_project:
        with pytest.raises(DatabaseUnavailableError):
            compare(index_id, table.id)
    system.work()
    counting.transactions = 0
    for table_id in (table.id, None):
        counting.transactions = 0
        compare(index_id, table_id)
        assert counting.transactions == 1
    system.replace(system.principal, table.id, {"a": prose(400)})
    counting.transactions = 0
    with pytest.raises(DatabaseUnavailableError):
        compare(index_id, table.id)
