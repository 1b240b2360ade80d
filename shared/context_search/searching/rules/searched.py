"""What a search looks through: one tool's scope, or a whole project."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from context_search.core.callers import Caller, Internal, Principal
from context_search.core.config import RankingChange, SearchConfig
from context_search.core.errors import NotFoundError
from context_search.core.filters import Fields
from context_search.core.model import Index, Reach, SearchTool


@dataclass(frozen=True, slots=True)
class SearchedTool:
    """The scope of a tool, ranked as the tool is configured, or as it would be with ``draft``.

    ``project_id`` is the caller's project; None is a trusted internal caller.
    """

    tool_id: int
    project_id: int | None
    draft: RankingChange | None = None

    @classmethod
    def by(cls, caller: Caller, tool_id: int, draft: RankingChange | None = None) -> SearchedTool:
        """Returns the tool as a caller sees it."""
        return cls(tool_id, None if isinstance(caller, Internal) else caller.project_id, draft)

    @property
    def id(self) -> int:
        """Returns the id that stands in logs."""
        return self.tool_id

    def seen(self, tool: SearchTool) -> tuple[Reach, SearchConfig]:
        """Returns how far the search goes, and its ranking.

        Raises InvalidInputError for a draft of no weights.
        """
        search = tool.search if self.draft is None else self.draft.applied_to(tool.search)
        return tool.reach, search


@dataclass(frozen=True, slots=True)
class SearchedProject:
    """Every string of every table of a project, as far as ``reach`` goes.

    The default ``search`` has the fusion that measures best.
    """

    project_id: int
    reach: Reach = field(default_factory=Reach)
    search: SearchConfig = field(default_factory=SearchConfig)

    @classmethod
    def by(cls, caller: Principal, project_id: int) -> SearchedProject:
        """Returns the project as its owner sees it.

        Raises NotFoundError for anybody else; missing projects look the same.
        """
        if caller.project_id != project_id:
            raise NotFoundError("there is no such project")
        return cls(project_id)

    @property
    def id(self) -> int:
        """Returns the id that stands in logs."""
        return self.project_id

    def seen(self, index: Index) -> tuple[Reach, SearchConfig]:
        """Returns how far the search goes, and its ranking."""
        return self.reach, replace(self.search, filterable=index.fields)


Searched = SearchedTool | SearchedProject


@dataclass(frozen=True, slots=True)
class SeenFields:
    """Filterable fields of strings that a tool may show; ``are_all``: of all that it may show."""

    of: tuple[Fields, ...] = ()
    are_all: bool = False
