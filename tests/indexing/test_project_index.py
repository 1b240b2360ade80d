"""The index over all tables of a project: on, followed, rebuilt, off."""

from __future__ import annotations

import pytest

from context_search.core.callers import ProjectKey
from context_search.core.config import Model
from context_search.core.errors import NotFoundError, ProjectIndexOffError
from context_search.core.ids import scope_key
from context_search.core.model import Index
from context_search.indexing.project_index import (
    ProjectIndexes,
    ProjectIndexStatus,
    project_index_status,
)
from context_search.integrations.ports import VectorQuery
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
        """A new project."""
        with self.store.for_all("test") as work:
            return ProjectKey(work.projects.add("p").id)

    def on(self) -> ProjectIndexStatus:
        """Switches the index on and does all that follows."""
        self.switch_on(self.principal)
        self.work()
        return self.read(self.principal)

    def index(self) -> Index:
        """The index as it is now."""
        return self.read(self.principal).index

    def texts(self) -> set[tuple[int, str]]:
        """What turbopuffer holds of the generation that answers: table and pointer."""
        documents = self.vectors.namespaces.get(self.index().generation.namespace, {})
        return {(each.table_id, each.json_pointer) for each in documents.values()}


def test_every_string_of_every_table_is_indexed_however_short() -> None:
    system = ProjectSystem()
    one = system.table({"title": "x", "long": prose(3_000), "number": 5})
    other = system.table(["", "林远"])
    status = system.on()
    assert status.progress.status == "ready"
    assert status.progress.nodes_count == 3
    assert system.texts() == {(one.id, "/title"), (one.id, "/long"), (other.id, "/1")}


def test_a_project_without_tables_is_ready_at_once() -> None:
    assert ProjectSystem().on().progress.status == "ready"


def test_switching_on_twice_changes_nothing() -> None:
    system = ProjectSystem()
    system.table({"a": "b"})
    first = system.on()
    again = system.switch_on(system.principal)
    assert again.index == first.index
    assert system.queue.messages == []


def test_tables_that_come_change_and_go_are_followed() -> None:
    system = ProjectSystem()
    system.on()
    table = system.table({"a": "first", "b": "second"})
    assert system.read(system.principal).progress.status == "indexing"
    system.work()
    assert system.texts() == {(table.id, "/a"), (table.id, "/b")}
    system.replace(system.principal, table.id, {"b": "other", "c": "third"})
    system.work()
    assert system.read(system.principal).progress.nodes_count == 2
    system.delete_table(system.principal, table.id)
    assert system.read(system.principal).progress.status == "ready"


def test_strings_of_other_projects_are_left_alone() -> None:
    system = ProjectSystem()
    stranger = system.project()
    foreign = system.create_table(stranger, "t", None, {"a": "foreign"})
    index = system.on().index
    system.enumerate(index.id, foreign.id)
    system.work()
    assert system.read(system.principal).progress.nodes_count == 0
    assert system.read(system.principal).progress.status == "ready"


def test_the_old_generation_answers_while_the_new_one_is_built() -> None:
    system = ProjectSystem()
    tables = [system.table({"a": f"text number {number}"}) for number in range(3)]
    old = system.on().index
    new = system.rebuilds.start_of_project(system.principal)
    assert system.rebuilds.start_of_project(system.principal) == new
    assert system.read(system.principal).progress.status == "rebuilding"
    assert system.index().generation.namespace == old.generation.namespace
    system.work()
    assert system.index().generation.namespace == new.generation.namespace
    assert system.texts() == {(table.id, "/a") for table in tables}
    assert (
        system.rebuilds.roll_back_of_project(system.principal).generation.namespace
        == old.generation.namespace
    )
    system.work()
    assert system.read(system.principal).progress.status == "ready"


def test_a_table_that_comes_while_it_is_rebuilt_is_in_both_generations() -> None:
    system = ProjectSystem()
    system.table({"a": "before"})
    system.on()
    new = system.rebuilds.start_of_project(system.principal)
    table = system.table({"a": "meanwhile"})
    system.work()
    assert system.index().generation.namespace == new.generation.namespace
    assert (table.id, "/a") in system.texts()


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


def test_a_project_that_is_gone_cannot_be_switched_on() -> None:
    with pytest.raises(NotFoundError):
        ProjectSystem().switch_on(ProjectKey(10**9))


def test_a_search_reaches_one_table_of_many() -> None:
    system = ProjectSystem()
    one, _ = system.table({"a": "harbour"}), system.table({"a": "harbour"})
    system.on()
    query = VectorQuery(
        scope_key(""), vector=None, tokens={"harbour": 1.0}, limit=9, table_ids=(one.id,)
    )
    legs = system.vectors.query(system.index().generation.namespace, query, timeout_s=1)
    assert legs.keyword is not None
    assert len(legs.keyword) == 1
