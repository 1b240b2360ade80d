"""Project search on and off: one index over every string of every table of a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.access.lookup import project_index
from context_search.budgets.spending import NO_LIMITS, check_ceiling
from context_search.core.callers import Principal
from context_search.core.config import IndexConfig, Model
from context_search.core.errors import NotFoundError, ProjectIndexOffError
from context_search.core.limits import DailyLimits
from context_search.core.messages import CompareIndex
from context_search.core.model import Index
from context_search.core.progress import Progress
from context_search.indexing.status import Rebuild, rebuild_of
from context_search.indexing.use_index import note_use
from context_search.store import Store, UnitOfWork


@dataclass(frozen=True, slots=True)
class ProjectIndexStatus:
    """The index of a project with its counters; ``integrity`` is the last complete sweep."""

    index: Index
    progress: Progress
    integrity: dict[str, object] | None
    rebuild: Rebuild | None


def project_config(model: Model) -> IndexConfig:
    """Returns the configuration of project indexes: every string is a node."""
    return IndexConfig(
        model=model.name,
        dimensions=model.dimensions,
        window_tokens=model.window_tokens,
        precision=model.precision,
        threshold=1,
    )


@dataclass(frozen=True, slots=True)
class ProjectIndexes:
    """The index of a project, on and off."""

    store: Store
    model: Model
    silent_s: float
    daily: DailyLimits = NO_LIMITS

    def switch_on(
        self, principal: Principal, fields: Sequence[str] | None = None
    ) -> ProjectIndexStatus:
        """Makes the index and orders the comparison with all tables of the project.

        Tables that come later are followed by themselves. Switching on what is on changes nothing
        but the ``fields`` to filter by, if there are any given.
        Raises NotFoundError when the project is gone, and SpendingCeilingError.
        """
        with self.store.for_project(principal.project_id) as work:
            if not work.projects.lock(principal.project_id):
                raise NotFoundError("there is no such project")
            index = work.indexes.of_project(principal.project_id)
            is_new = index is None
            if index is None:
                check_ceiling(work, principal.project_id, self.daily)
                config = project_config(self.model)
                index = work.indexes.add_to_project(principal.project_id, config)
            has_other_fields = fields is not None and tuple(fields) != index.fields
            if fields is not None and has_other_fields:
                work.indexes.name_fields(index.id, fields)
            if note_use(work, index) or is_new or has_other_fields:
                work.send(CompareIndex(index.id))
            return project_index_status(work, principal, silent_s=self.silent_s)

    def switch_off(self, principal: Principal) -> None:
        """Removes the index; its chunks and its namespace follow with ``cleanup``.

        Raises ProjectIndexOffError when it is off already.
        """
        with self.store.for_project(principal.project_id) as work:
            index = project_index(work, principal)
            if not work.indexes.lock(index):
                raise ProjectIndexOffError("the search index of the project has to be made first")
            work.indexes.retire(index.id)


def project_index_status(
    work: UnitOfWork, principal: Principal, *, silent_s: float
) -> ProjectIndexStatus:
    """Returns the state of the index. Raises ProjectIndexOffError."""
    index = project_index(work, principal)
    progress = work.node_counts.progress(index, "", silent_s=silent_s)
    reports = work.sweeps.reports(index.id)
    proven = next(
        (each for each in reports if each["namespace"] == index.generation.namespace), None
    )
    return ProjectIndexStatus(
        index, progress, proven, rebuild_of(work, index, "", silent_s=silent_s)
    )
