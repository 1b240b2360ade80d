"""A deployment whose model has changed: every index of it built anew, page by page."""

from __future__ import annotations

from dataclasses import replace

from context_search.core.config import Model
from context_search.core.messages import CompareIndex
from context_search.indexing.rebuilds import RebuildAll, Rebuilds
from context_search.indexing.rules.indexes import UnderWay
from tests.system import System, prose


def deployment(system: System, **changes: object) -> RebuildAll:
    """The use case of a deployment with another model, or the same one."""
    model = replace(Model(system.config.model, system.config.dimensions), **changes)  # type: ignore[arg-type]
    return RebuildAll(system.store, Rebuilds(system.store, model))


def under_way(system: System) -> UnderWay:
    with system.store.for_all("test") as work:
        return work.indexes.rebuilds_under_way()


def small_system() -> System:
    system = System()
    for seed in (1, 2, 3):
        system.tool(system.table({"a": prose(300, seed)}))
    system.work()
    return system


def test_what_is_up_to_date_stays_unless_all_is_wanted() -> None:
    system = small_system()
    same = deployment(system)
    done = same.start(after=0, outdated=True)
    assert (done.generations, done.up_to_date, done.next_after) == ([], 3, None)
    assert same.estimate(after=0, outdated=True).indexes == 0
    assert same.estimate(after=0, outdated=False).indexes == 3
    assert len(same.start(after=0, outdated=False).generations) == 3


def test_every_index_is_rebuilt_once_on_the_new_model_however_often_it_is_asked_for() -> None:
    system = small_system()
    other = deployment(system, precision="f16", price=1.0)
    planned = other.estimate(after=0, outdated=True)
    assert (planned.indexes, planned.estimate.nodes, planned.next_after) == (3, 3, None)
    assert planned.estimate.cost
    first, again = (other.start(after=0, outdated=True) for _ in range(2))
    assert first == again
    assert under_way(system) == UnderWay(building=2, queued=1)
    system.work()
    with system.store.for_all("test") as work:
        [last] = work.indexes.promote(at_once=2)
        work.send(CompareIndex(last, None))
    system.work()
    assert under_way(system) == UnderWay(0, 0)
    done = other.start(after=0, outdated=True)
    assert (done.generations, done.up_to_date) == ([], 3)
    with system.store.for_all("test") as work:
        indexes = work.indexes.page(after=0, limit=9)
    assert {index.config.precision for index in indexes} == {"f16"}


def test_an_emptied_index_waits_for_its_search_and_a_second_one_of_a_kind_is_refused() -> None:
    system = System()
    table = system.table({"a": prose(300)})
    before = system.tool(table)
    system.work()
    system.config = replace(system.config, precision="f16")
    system.tool(table)
    emptied = system.tool(system.table({"a": prose(300)}))
    system.work()
    with system.store.for_all("test") as work:
        index = work.indexes.find(emptied.index.id)
        assert index is not None
        assert work.indexes.clear(index)
    done = deployment(system, precision="f16").start(after=0, outdated=True)
    assert (done.refused, done.evicted, done.up_to_date) == ([before.index.id], 1, 1)
    assert done.generations == []
