"""What people and cleanup do with a large index, one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from itertools import count

from context_search.access.lookup import live_tool
from context_search.catalog.outline import MOST_COUNTED
from context_search.catalog.tables import LISTED_TABLES, page_of_tables
from context_search.core.limits import ProjectLimits
from context_search.core.model import Reach
from context_search.core.progress import NodeState
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.status import LISTED_TOOLS, page_of_tools, tool_status
from context_search.indexing.strings import chunk_spans, strings_of_tool
from context_search.maintenance.cleanup import remove_absent_nodes
from context_search.maintenance.rules.health import CleanupLimits
from context_search.store import REPOSITORIES, UnitOfWork
from testing.grown_index import SILENT_S, GrownIndex, wanted_tool

_EDIT = """
    UPDATE context_table SET data = jsonb_set(data, '{strings,7}', to_jsonb(CAST(:text AS text)))
    WHERE id = :id
"""
EDIT = "edit of one string: the document is written"
COMPARE = "edit of one string, and its comparison"
HYDRATED = 100
PAGE = 1_000


class _Operations:
    """One method an operation; each may be repeated."""

    def __init__(self, grown: GrownIndex) -> None:
        self.grown = grown
        self.completion = IndexCompletion(grown.store, SILENT_S, None)
        self.comparer = Comparer(grown.store, self.completion, Limits())
        self.numbers = count()
        namespace = grown.index.generation.namespace
        self.doc_ids = [f"{namespace}.{number}" for number in range(HYDRATED)]

    def work(self) -> AbstractContextManager[UnitOfWork]:
        """Opens a transaction of the project."""
        return self.grown.store.for_project(self.grown.owner.project_id)

    def page_of_strings(self, state: NodeState | None = None, cursor: str | None = None) -> None:
        """Reads a page of strings, of one state if so."""
        owner, tool_id = self.grown.owner, self.grown.tool.id
        with self.work() as work:
            strings_of_tool(work, owner, tool_id, state=state, cursor=cursor, limit=100)

    def count_below(self) -> None:
        """Counts the strings below the list and below some of its elements."""
        places = ["/strings", *(f"/strings/{number}" for number in range(HYDRATED))]
        with self.work() as work:
            work.large_strings.below(
                self.grown.index, self.grown.table.id, places, most=MOST_COUNTED
            )

    def progress_of_one(self) -> None:
        """Counts a scope that is one string."""
        with self.work() as work:
            work.node_counts.progress(self.grown.index, "/strings/7", silent_s=SILENT_S)

    def chunks_of_one(self) -> None:
        """Reads where the chunks of a string lie."""
        owner, tool_id = self.grown.owner, self.grown.tool.id
        with self.work() as work:
            chunk_spans(work, owner, tool_id, "/strings/7", char=5, first=None, limit=100)

    def page_of_tools(self) -> None:
        """Lists tools with their status."""
        with self.work() as work:
            page_of_tools(work, self.grown.owner, after=0, limit=LISTED_TOOLS, silent_s=SILENT_S)

    def page_of_tables(self) -> None:
        """Lists tables with their status."""
        with self.work() as work:
            owner, limit = self.grown.owner, LISTED_TABLES
            page_of_tables(work, owner, after=0, limit=limit, silent_s=SILENT_S)

    def status(self) -> None:
        """Reads the status of the tool."""
        with self.work() as work:
            tool = live_tool(work, self.grown.tool.id, self.grown.owner)
            tool_status(work, tool, silent_s=SILENT_S)

    def health(self) -> None:
        """Reads the health of the project."""
        with self.work() as work:
            project_id = self.grown.owner.project_id
            work.node_counts.stalled(project_id, silent_s=SILENT_S)
            work.health.of_project(project_id)

    def write_summaries(self) -> None:
        """Writes the summaries of tools that changed."""
        self.completion.complete(self.grown.index.id)

    def is_at_rest(self) -> None:
        """Asks whether the index is at rest, as each search does."""
        with self.work() as work:
            work.node_counts.state(self.grown.index, "", silent_s=SILENT_S)

    def hydrate(self) -> None:
        """Reads chunks that a search has found."""
        with self.work() as work:
            work.live_chunks.hydrate(self.grown.index, Reach("/strings", None), self.doc_ids)

    def dry_run(self) -> None:
        """Says how large a rebuild is."""
        with self.work() as work:
            work.indexes.size(self.grown.index)

    def page_of_sweep(self) -> None:
        """Reads a page of what turbopuffer is compared with."""
        with self.grown.store.for_all("maintenance") as work:
            work.sweeps.present_after(self.grown.index.generation.namespace, "", PAGE)

    def idle(self) -> None:
        """Takes each step of ``cleanup`` that looks for work, in one transaction."""
        limits = ProjectLimits()
        with self.grown.store.for_all("maintenance") as work:
            work.node_counts.count_parts()  # before anything is written
            work.node_counts.compact()
            work.nodes.abandoned(silent_s=SILENT_S, limit=200)
            work.comparisons.behind(silent_s=SILENT_S, limit=200)
            work.indexes.promote(at_once=2)
            work.indexes.building(limit=200)
            work.chunks.take_wordless(limit=500)
            work.tables.mark_of_deleted_projects(limit=200)
            remove_absent_nodes(work, limit=200)
            work.removals.remove_retired_nodes(limit=200)
            work.removals.tombstones(older_than_s=1_800, limit=PAGE)
            work.removals.retired(older_than_s=1_800, limit=1)
            work.indexes.with_incomplete_tools(limit=200)
            work.health.readings()
            work.removals.due(limit=200)
            work.nodes.requeue_quarantined(limit=200)
            work.indexes.outdated(older_than_s=86_400, limit=10)
            work.quotas.readmit(limits, limit=200)
            work.indexes.next_to_go(limits)
            work.sweeps.extent(page=PAGE)
            repositories = [getattr(work, name) for name in REPOSITORIES]
            scheduled = [each for each in repositories if hasattr(each, "DUE")]
            work.health.due_in_s(scheduled, CleanupLimits(SILENT_S, project=limits))

    def create_tool(self, pointer: str = "/strings") -> None:
        """Makes a tool over a place."""
        self.grown.tools.create(wanted_tool(self.grown.owner, self.grown.table, pointer))

    def compare(self) -> None:
        """Compares the index with the document."""
        self.comparer.compare(self.grown.index.id, self.grown.table.id)

    def edit(self) -> None:
        """Changes one string by SQL."""
        edit_one(self.grown, next(self.numbers))

    def edit_and_compare(self) -> None:
        """Changes one string, and has the index follow."""
        self.edit()
        self.compare()


def operations(grown: GrownIndex) -> Mapping[str, Callable[[], object]]:
    """Returns the operations by name; each may be repeated."""
    on = _Operations(grown)
    return {
        "a page of strings": on.page_of_strings,
        "a later page of strings": lambda: on.page_of_strings(cursor="1.L3N0cmluZ3MvNQ"),
        "a page of quarantined strings": lambda: on.page_of_strings("quarantined"),
        "strings below 101 places": on.count_below,
        "progress of one string": on.progress_of_one,
        "chunks of one string": on.chunks_of_one,
        "a page of tools": on.page_of_tools,
        "a page of tables": on.page_of_tables,
        "status": on.status,
        "health of the project": on.health,
        "write summaries": on.write_summaries,
        "is it at rest (each search)": on.is_at_rest,
        "hydrate 100": on.hydrate,
        "dry run of a rebuild": on.dry_run,
        "a page of the sweep": on.page_of_sweep,
        "cleanup's steps with nothing to do": on.idle,
        "create a tool over one string": lambda: on.create_tool(f"/strings/{next(on.numbers)}"),
        "create a tool over all": on.create_tool,
        EDIT: on.edit,
        COMPARE: on.edit_and_compare,
    }


def operations_of_a_part(grown: GrownIndex) -> Mapping[str, Callable[[], object]]:
    """Makes the tool's strings a part of the index, and returns operations by name.

    A tool over a place beside them is made, and cleanup enters and sums the part.
    """
    on = _Operations(grown)
    on.create_tool("/beside")
    on.compare()
    is_going_on = True
    while is_going_on:
        with grown.store.for_all("maintenance") as work:
            is_going_on = work.node_counts.count_parts()
    return {
        "status of a tool over a part": on.status,
        "write summaries of tools over parts": on.write_summaries,
        "cleanup's steps with nothing to do for parts": on.idle,
    }


def edit_one(grown: GrownIndex, number: int) -> None:
    """Writes another text into one string of the document, by SQL."""
    with grown.store.database.transaction() as tx:
        tx.run(_EDIT, id=grown.table.id, text=f"This string is another one, {number}")
