"""The index over all tables of a project: on, followed, rebuilt, off."""

from __future__ import annotations

import pytest

from context_search.domain.access import ProjectKey
from context_search.domain.config import Model
from context_search.domain.errors import NotFoundError, ProjectIndexOffError
from context_search.domain.ids import scope_key
from context_search.domain.model import Index
from context_search.ports.outside import VectorQuery
from context_search.services.catalog.tables import ManageTables
from context_search.services.indexing.project_index import ProjectIndexes, ProjectIndexStatus
from tests.services.house import SILENT_S, House, prose


class Estate(House):
    """A project that exists, with the switch of its index."""

    def __init__(self) -> None:
        super().__init__()
        self.principal = ProjectKey(ManageTables(self.store).create_project("p")[0].id)
        model = Model(self.config.model, self.config.dimensions)
        indexes = ProjectIndexes(self.store, model, SILENT_S)
        self.switch_on, self.switch_off = indexes.switch_on, indexes.switch_off
        self.read = indexes.read

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
        documents = self.vectors.namespaces.get(self.index().namespace, {})
        return {(each.table_id, each.json_pointer) for each in documents.values()}


def test_every_string_of_every_table_is_indexed_however_short() -> None:
    estate = Estate()
    one = estate.table({"title": "x", "long": prose(3_000), "number": 5})
    other = estate.table(["", "林远"])
    status = estate.on()
    assert status.progress.status == "ready"
    assert status.progress.nodes_count == 3
    assert estate.texts() == {(one.id, "/title"), (one.id, "/long"), (other.id, "/1")}


def test_a_project_without_tables_is_ready_at_once() -> None:
    assert Estate().on().progress.status == "ready"


def test_switching_on_twice_changes_nothing() -> None:
    estate = Estate()
    estate.table({"a": "b"})
    first = estate.on()
    again = estate.switch_on(estate.principal)
    assert again.index == first.index
    assert estate.queue.messages == []


def test_tables_that_come_change_and_go_are_followed() -> None:
    estate = Estate()
    estate.on()
    table = estate.table({"a": "first", "b": "second"})
    assert estate.read(estate.principal).progress.status == "indexing"
    estate.work()
    assert estate.texts() == {(table.id, "/a"), (table.id, "/b")}
    estate.replace(estate.principal, table.id, {"b": "other", "c": "third"})
    estate.work()
    assert estate.read(estate.principal).progress.nodes_count == 2
    estate.delete_table(estate.principal, table.id)
    assert estate.read(estate.principal).progress.status == "ready"


def test_strings_of_other_projects_are_left_alone() -> None:
    estate = Estate()
    stranger = ProjectKey(ManageTables(estate.store).create_project("q")[0].id)
    foreign = estate.create_table(stranger, "t", None, {"a": "foreign"})
    index = estate.on().index
    estate.enumerate(index.id, foreign.id)
    estate.work()
    assert estate.read(estate.principal).progress.nodes_count == 0
    assert estate.read(estate.principal).progress.status == "ready"


def test_the_old_generation_answers_while_the_new_one_is_built() -> None:
    estate = Estate()
    tables = [estate.table({"a": f"text number {number}"}) for number in range(3)]
    old = estate.on().index
    new = estate.rebuilds.start_of_project(estate.principal)
    assert estate.rebuilds.start_of_project(estate.principal) == new
    assert estate.read(estate.principal).progress.status == "rebuilding"
    assert estate.index().namespace == old.namespace
    estate.work()
    assert estate.index().namespace == new.namespace
    assert estate.texts() == {(table.id, "/a") for table in tables}
    assert estate.rebuilds.roll_back_of_project(estate.principal).namespace == old.namespace
    estate.work()
    assert estate.read(estate.principal).progress.status == "ready"


def test_a_table_that_comes_while_it_is_rebuilt_is_in_both_generations() -> None:
    estate = Estate()
    estate.table({"a": "before"})
    estate.on()
    new = estate.rebuilds.start_of_project(estate.principal)
    table = estate.table({"a": "meanwhile"})
    estate.work()
    assert estate.index().namespace == new.namespace
    assert (table.id, "/a") in estate.texts()


def test_a_rebuild_of_the_project_rebuilds_this_index_too() -> None:
    estate = Estate()
    estate.tool(estate.table({"a": prose(100)}))
    estate.on()
    reindex = estate.rebuilds.reindex
    assert [each.table_id is None for each in reindex(estate.principal)] == [True, False]


def test_a_tool_and_the_project_share_the_vectors_of_equal_text() -> None:
    estate = Estate()
    table = estate.table({"a": prose(90)})
    estate.config = estate.on().index.config
    embedded = estate.embedder.embedded
    estate.tool(table)
    estate.work()
    assert estate.embedder.embedded == embedded


def test_switched_off_it_answers_nothing_and_everything_goes() -> None:
    estate = Estate()
    estate.table({"a": "text"})
    index = estate.on().index
    estate.switch_off(estate.principal)
    with pytest.raises(ProjectIndexOffError):
        estate.read(estate.principal)
    with pytest.raises(ProjectIndexOffError):
        estate.switch_off(estate.principal)
    with pytest.raises(ProjectIndexOffError):
        estate.rebuilds.start_of_project(estate.principal)
    estate.enumerate(index.id)
    assert estate.queue.messages == []
    assert estate.on().index.namespace != index.namespace


def test_a_project_that_is_gone_cannot_be_switched_on() -> None:
    with pytest.raises(NotFoundError):
        Estate().switch_on(ProjectKey(10**9))


def test_a_search_reaches_one_table_of_many() -> None:
    estate = Estate()
    one, _ = estate.table({"a": "harbour"}), estate.table({"a": "harbour"})
    estate.on()
    query = VectorQuery(
        scope_key(""), vector=None, tokens={"harbour": 1.0}, limit=9, table_ids=(one.id,)
    )
    legs = estate.vectors.query(estate.index().namespace, query, timeout_s=1)
    assert legs.keyword is not None
    assert len(legs.keyword) == 1
