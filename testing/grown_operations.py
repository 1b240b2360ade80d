"""What people and cleanup do with a large index, one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count

from context_search.adapters.system_clock import SystemClock
from context_search.domain.limits import ProjectLimits
from context_search.domain.model import Reach
from context_search.domain.progress import NodeState
from context_search.services.catalog.list_tables import ListTables
from context_search.services.catalog.outline import MOST_COUNTED
from context_search.services.indexing.enumeration import Comparer, Limits
from context_search.services.indexing.settle import Settler
from context_search.services.indexing.status import ToolStatuses
from context_search.services.indexing.strings import ReadStrings
from testing.grown_index import SILENT_S, GrownIndex, wanted_tool

_EDIT = """
    UPDATE context_table SET data = jsonb_set(data, '{strings,7}', to_jsonb(CAST(:text AS text)))
    WHERE id = :id
"""
EDIT = "edit of one string: the document is written"
COMPARE = "edit of one string, and its comparison"
HYDRATED = 100
PAGE = 1_000


def operations(  # noqa: C901 - a list: one function an operation
    grown: GrownIndex,
) -> Mapping[str, Callable[[], object]]:
    """Returns the operations by name; each may be repeated."""
    statuses = ToolStatuses(grown.store, SILENT_S, SystemClock(), time.sleep)
    settler = Settler(grown.store, SILENT_S, None)
    comparer, numbers = Comparer(grown.store, settler, Limits()), count()
    doc_ids = [f"{grown.index.generation.namespace}.{number}" for number in range(HYDRATED)]
    reach = Reach("/strings", None)

    def create_one() -> None:
        grown.tools.create(wanted_tool(grown.owner, grown.table, f"/strings/{next(numbers)}"))

    def hydrate() -> None:
        with grown.store.for_project(grown.owner.project_id) as work:
            work.live_chunks.hydrate(grown.index, reach, doc_ids)

    strings = ReadStrings(grown.store)

    def page_of_strings(state: NodeState | None, cursor: str | None = None) -> None:
        strings.page(grown.owner, grown.tool.id, state=state, cursor=cursor, limit=100)

    def count_below() -> None:
        places = ["/strings", *(f"/strings/{number}" for number in range(HYDRATED))]
        with grown.store.for_project(grown.owner.project_id) as work:
            work.large_strings.below(grown.index, grown.table.id, places, most=MOST_COUNTED)

    def progress_of_one() -> None:
        with grown.store.for_project(grown.owner.project_id) as work:
            work.node_counts.progress(grown.index, "/strings/7", silent_s=SILENT_S)

    def chunks_of_one() -> None:
        strings.spans(grown.owner, grown.tool.id, "/strings/7", char=5, first=None, limit=100)

    def is_at_rest() -> None:
        with grown.store.for_project(grown.owner.project_id) as work:
            work.node_counts.status(grown.index, silent_s=SILENT_S)

    def sweep_page() -> None:
        with grown.store.for_all("upkeep") as work:
            work.sweeps.present_after(grown.index.generation.namespace, "", PAGE)

    def edit_and_compare() -> None:
        edit_one(grown, next(numbers))
        comparer.compare(grown.index.id, grown.table.id)

    def dry_run() -> None:
        with grown.store.for_project(grown.owner.project_id) as work:
            work.rebuilds.size(grown.index)

    def health() -> None:
        with grown.store.for_project(grown.owner.project_id) as work:
            work.health.of_project(grown.owner.project_id)

    return {
        "a page of strings": lambda: page_of_strings(None),
        "a later page of strings": lambda: page_of_strings(None, cursor="1.L3N0cmluZ3MvNQ"),
        "a page of quarantined strings": lambda: page_of_strings("quarantined"),
        "strings below 101 places": count_below,
        "progress of one string": progress_of_one,
        "chunks of one string": chunks_of_one,
        "a page of tools": lambda: statuses.page(grown.owner, after=0),
        "a page of tables": lambda: ListTables(grown.store, SILENT_S).page(grown.owner, after=0),
        "status": lambda: statuses.read(grown.tool.id, grown.owner),
        "health of the project": health,
        "settle": lambda: settler.settle(grown.index.id),
        "is it at rest (each search)": is_at_rest,
        "hydrate 100": hydrate,
        "dry run of a rebuild": dry_run,
        "a page of the sweep": sweep_page,
        "cleanup's steps with nothing to do": lambda: idle(grown),
        "create a tool over one string": create_one,
        "create a tool over all": lambda: grown.tools.create(
            wanted_tool(grown.owner, grown.table, "/strings")
        ),
        EDIT: lambda: edit_one(grown, next(numbers)),
        COMPARE: edit_and_compare,
    }


def operations_of_a_part(grown: GrownIndex) -> Mapping[str, Callable[[], object]]:
    """Makes the tool's strings a part of the index, and returns operations by name.

    A tool over a place beside them is made, and cleanup enters and sums the part.
    """
    statuses = ToolStatuses(grown.store, SILENT_S, SystemClock(), time.sleep)
    settler = Settler(grown.store, SILENT_S, None)
    comparer = Comparer(grown.store, settler, Limits())
    grown.tools.create(wanted_tool(grown.owner, grown.table, "/beside"))
    comparer.compare(grown.index.id, grown.table.id)
    is_going_on = True
    while is_going_on:
        with grown.store.for_all("upkeep") as work:
            is_going_on = work.quotas.count_parts()
    return {
        "status of a tool over a part": lambda: statuses.read(grown.tool.id, grown.owner),
        "settle of tools over parts": lambda: settler.settle(grown.index.id),
        "cleanup's steps with nothing to do for parts": lambda: idle(grown),
    }


def idle(grown: GrownIndex) -> None:
    """Takes each step of ``cleanup`` that looks for work, in one transaction."""
    limits = ProjectLimits()
    with grown.store.for_all("upkeep") as work:
        work.quotas.count_parts()  # before anything is written
        work.quotas.compact()
        work.nodes.abandoned(silent_s=SILENT_S, limit=200)
        work.comparisons.behind(silent_s=SILENT_S, limit=200)
        work.rebuilds.promote(at_once=2)
        work.rebuilds.building(limit=200)
        work.words_backlog.take(limit=500)
        work.removals.mark_tables(limit=200)
        work.removals.remove_nodes(limit=200)
        work.deletions.remove_retired_nodes(limit=200)
        work.deletions.tombstones(older_than_s=1_800, limit=PAGE)
        work.deletions.retired(older_than_s=1_800, limit=1)
        work.indexes.with_unsettled_tools(limit=200)
        work.gauges.read()
        work.removals.due(limit=200)
        work.nodes.requeue_quarantined(limit=200)
        work.rebuilds.outdated(older_than_s=86_400, limit=10)
        work.quotas.readmit(limits, limit=200)
        work.evictions.next_to_go(limits)
        work.sweeps.extent(page=PAGE)
        work.agenda.due_in_s(
            silent_s=SILENT_S, grace_s=1_800, keep_previous_s=86_400, limits=limits
        )


def edit_one(grown: GrownIndex, number: int) -> None:
    """Writes another text into one string of the document, by SQL."""
    with grown.store.database.transaction() as tx:
        tx.run(_EDIT, id=grown.table.id, text=f"This string is another one, {number}")
