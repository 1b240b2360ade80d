"""What can be asked about a whole project: its index over all tables, and taking over its tools."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from context_search.bootstrap.work import Work

if TYPE_CHECKING:
    from context_search.web.routes.catalog.adopt import AdoptionUseCases
    from context_search.web.routes.indexing.project_index import ProjectIndexUseCases


class ProjectWork(Work):
    """The orders of the queue, the switch of project search, and adoption."""

    @cached_property
    def adoption(self) -> AdoptionUseCases:
        """The use case of those who bring a database of their own."""
        from context_search.services.catalog.adopt import TakeOverTools  # noqa: PLC0415
        from context_search.web.routes.catalog.adopt import AdoptionUseCases  # noqa: PLC0415

        return AdoptionUseCases(TakeOverTools(self.store), self.model)

    @cached_property
    def project_index(self) -> ProjectIndexUseCases:
        """The use cases of the index over all tables of a project."""
        from context_search.services.indexing import (  # noqa: PLC0415
            project_index,
            rebuild,
        )
        from context_search.web.routes.indexing.project_index import ProjectIndexUseCases  # noqa: PLC0415

        silent_s = self.settings.silent_after_s
        return ProjectIndexUseCases(
            switch_on=project_index.SwitchProjectIndexOn(self.store, self.model, silent_s),
            switch_off=project_index.SwitchProjectIndexOff(self.store),
            read=project_index.ReadProjectIndex(self.store, silent_s),
            start_rebuild=rebuild.StartRebuild(self.store, self.model),
            roll_back=rebuild.RollBack(self.store),
        )
