"""A store in front of another one, for tests of what happens around its transactions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass

from context_search.integrations.ports import Deadline
from context_search.store import Store, UnitOfWork


@dataclass
class StoreInFront(ABC):
    """Implements ``Store`` over ``inner``: each of its transactions goes through ``around``."""

    inner: Store

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        return self.around(self.inner.for_project(project_id, deadline))

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        return self.around(self.inner.for_all(reason, deadline))

    @abstractmethod
    def around(
        self, opened: AbstractContextManager[UnitOfWork]
    ) -> AbstractContextManager[UnitOfWork]:
        """Returns what who asked for the transaction gets; it has not begun yet."""
