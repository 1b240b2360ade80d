"""Takes over the search tools that another program keeps in the shared table ``tool``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from context_search.domain.config import IndexConfig
from context_search.domain.errors import InvalidInputError, NotFoundError
from context_search.domain.json_pointer import split
from context_search.domain.model import Scope
from context_search.domain.orders import CompareIndex
from context_search.ports.catalog import Unowned, UnservedTool
from context_search.ports.store import Store
from context_search.services.indexing.use_index import note_use
from context_search.services.pages import PAGE, page_of


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A tool that has an index from now on, and what it searches."""

    tool_id: int
    scope: Scope


@dataclass(frozen=True, slots=True)
class NotTakenOver:
    """A tool that stays as it was: the code of an error, and what is wrong in words."""

    tool_id: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """What became of a page of tools, and the id to go on after when there are more.

    ``of_no_project`` are tools that no call for any project takes over, at most 100 by name.
    """

    taken_over: list[TakenOver]
    not_taken_over: list[NotTakenOver]
    next_after: int | None
    of_no_project: Unowned


@dataclass(frozen=True, slots=True)
class TakeOverTools:
    """Gives each tool of type ``search`` that has none an index, and orders its indexing.

    Of the row only ``project_id`` is written, where it is NULL. Repeating it changes nothing.
    """

    store: Store

    def __call__(
        self, project_id: int, index_config: Callable[[str | None], IndexConfig], *, after: int
    ) -> Adoption:
        """Handles a page. ``index_config`` reads what ``tool.search_config`` holds.

        Raises NotFoundError without the project.
        """
        with self.store.for_project(project_id) as work:
            if not work.projects.exists(project_id):
                raise NotFoundError("there is no such project")
            found = work.tools.unserved(project_id, after=after, limit=PAGE + 1)
            unowned = work.tools.of_no_project(limit=PAGE)
        page = page_of(found, lambda tool: tool.id)
        done = Adoption([], [], page.next_after, unowned)
        for tool in page.rows:
            try:
                scope = self._take_over(project_id, tool, index_config(tool.search_config))
            except (InvalidInputError, NotFoundError) as error:
                done.not_taken_over.append(NotTakenOver(tool.id, error.code, error.message))
            else:
                done.taken_over.append(TakenOver(tool.id, scope))
        return done

    def _take_over(self, project_id: int, tool: UnservedTool, config: IndexConfig) -> Scope:
        if tool.table_id is None:
            raise NotFoundError("the tool names no table")
        scope = Scope(tool.table_id, tool.json_path or "")
        split(scope.json_pointer)
        with self.store.for_project(project_id) as work:
            work.tables.lock(scope.table_id, with_project=True)
            if work.tables.find(scope.table_id, project_id=project_id) is None:
                raise NotFoundError("the project has no such table")
            if not work.tools.take_over(tool.id, project_id=project_id):
                raise NotFoundError("the tool was deleted, or taken over, meanwhile")
            index = work.indexes.find_or_add(
                project_id=project_id, table_id=scope.table_id, config=config
            )
            note_use(work, index)
            work.comparisons.cover(index.id, tool_id=tool.id, scope=scope.json_pointer)
            work.send(CompareIndex(index.id, scope.table_id))
        return scope
