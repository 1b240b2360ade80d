"""The index over all tables of a project: on, followed, rebuilt, off."""

from __future__ import annotations

import pytest

from context_search.core.callers import ProjectKey
from context_search.core.config import Model
from context_search.core.errors import ProjectIndexOffError
from context_search.core.model import Index
from context_search.indexing.project_index import (
    ProjectIndexes,
    ProjectIndexStatus,
    project_index_status,
)
from tests.system import SILENT_S, System, prose


class ProjectSystem(System):
    """A project that exists, with the switch of its index."""

    def __init__(self) -> None:
        super().__init__()
        self.principal = self.project()
        model = Model(self.config.model, self.config.dimensions)
        indexes = ProjectIndexes(self.store, model, SILENT_S)
        self.switch_on, self.switch_off = indexes.switch_on, indexes.switch_off

    def read(self, principal: ProjectKey) -> ProjectIndexStatus:
        """How far the index is."""
        with self.store.for_project(principal.project_id) as work:
            return project_index_status(work, principal, silent_s=SILENT_S)

    def project(self) -> ProjectKey:
        with self.store.for_all("test") as work:
            return ProjectKey(work.projects.add("p").id)

    def on(self) -> ProjectIndexStatus:
        """Switches the index on and does all that follows."""
        self.switch_on(self.principal)
        self.work()
        return self.read(self.principal)

    def index(self) -> Index:
        return self.read(self.principal).index

    def texts(self) -> set[tuple[int, str]]:
        """What turbopuffer holds of the generation that answers: table and pointer."""
        documents = self.vectors.namespaces.get(self.index().generation.namespace, {})
        return {(each.table_id, each.json_pointer) for each in documents.values()}


def test_a_project_without_tables_is_ready_at_once() -> None:
    assert ProjectSystem().on().progress.status == "ready"


def test_switching_on_twice_changes_nothing() -> None:
    system = ProjectSystem()
    system.table({"a": "b"})
    first = system.on()
    again = system.switch_on(system.principal)
    assert again.index == first.index
    assert system.queue.messages == []


def test_a_rebuild_of_the_project_rebuilds_this_index_too() -> None:
    system = ProjectSystem()
    system.tool(system.table({"a": prose(100)}))
    system.on()
    reindex = system.rebuilds.reindex
    assert [each.table_id is None for each in reindex(system.principal)] == [True, False]


def test_a_tool_and_the_project_share_the_vectors_of_equal_text() -> None:
    system = ProjectSystem()
    table = system.table({"a": prose(90)})
    system.config = system.on().index.config
    embedded = system.embedder.embedded
    system.tool(table)
    system.work()
    assert system.embedder.embedded == embedded


def test_switched_off_it_answers_nothing_and_everything_goes() -> None:
    system = ProjectSystem()
    system.table({"a": "text"})
    index = system.on().index
    system.switch_off(system.principal)
    with pytest.raises(ProjectIndexOffError):
        system.read(system.principal)
    with pytest.raises(ProjectIndexOffError):
        system.switch_off(system.principal)
    with pytest.raises(ProjectIndexOffError):
        system.rebuilds.start_of_project(system.principal)
    system.enumerate(index.id)
    assert system.queue.messages == []
    assert system.on().index.generation.namespace != index.generation.namespace
