"""What is looked at for agents that may filter: only where a tool opts in, and never in vain."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from context_search.agents.list_tools import ListTools
from context_search.core.config import SearchConfig
from context_search.core.errors import DatabaseUnavailableError
from context_search.core.model import Scope, SearchTool
from context_search.integrations.ports import Deadline
from context_search.searching.rules.searched import SeenFields
from context_search.store import Store, UnitOfWork
from tests.system import System

TOOLS = [
    SearchTool(
        id=number,
        project_id=1,
        name="t",
        description=None,
        table_name=None,
        scope=Scope(1),
        search=SearchConfig(filterable=("status",), agents_may_filter=number > 2),
        index_id=1,
        created_at=None,
        threshold=10_000,
    )
    for number in (1, 2, 3, 4)
]


@dataclass
class BusyStore:
    """A store that cannot serve, and counts who asks."""

    inner: Store
    asked: list[int] = field(default_factory=list)

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """Implements ``Store``."""
        del deadline
        self.asked.append(project_id)
        raise DatabaseUnavailableError("busy")

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """Implements ``Store``."""
        return self.inner.for_all(reason, deadline)


def test_nothing_is_read_for_tools_that_do_not_opt_in() -> None:
    store = BusyStore(System().store)
    assert ListTools(store).seen_fields(TOOLS[:2]) == {}
    assert store.asked == []


def test_a_busy_database_is_asked_once_and_the_tools_have_no_values() -> None:
    store = BusyStore(System().store)
    assert ListTools(store).seen_fields(TOOLS) == {3: SeenFields(), 4: SeenFields()}
    assert store.asked == [1]
