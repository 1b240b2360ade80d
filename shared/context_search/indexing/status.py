"""How far the index of a tool is: derived from the nodes, never stored as truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from context_search.access.lookup import index_of, live_table, live_tool
from context_search.budgets.shares import waiting
from context_search.core.callers import Principal
from context_search.core.model import ALL_TOOLS, Index, SearchTool, ToolsQuery
from context_search.core.pages import NAMES_LOOKED_AT, Page, page_of
from context_search.core.progress import NodeProgress, Progress
from context_search.indexing.hints import EmptyScope, empty_scope
from context_search.integrations.ports import Clock
from context_search.store import Store, UnitOfWork

POLL_S = 0.2
LONGEST_WAIT_S = 5.0
"""How long a request waits for an index, in seconds, unless the deployment says otherwise."""
LISTED_NODES = 200
"""Maximum number of nodes in an answer."""
LISTED_TOOLS = 20
"""Number of tools on a page, usually. Each may have an index of its own to be asked."""
MOST_LISTED_TOOLS = 100
"""Maximum number of tools on a page."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The generation that will take the place of the one that answers, and how far it is."""

    index: Index
    progress: Progress


def rebuild_of(work: UnitOfWork, index: Index, scope: str, *, silent_s: float) -> Rebuild | None:
    """Returns the rebuild of an index that goes on or waits for its turn, in a scope."""
    pending = work.indexes.pending(index.id) if index.is_rebuilding else None
    if pending is None:
        return None
    return Rebuild(pending, work.node_counts.progress(pending, scope, silent_s=silent_s))


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """A tool with the state of its index.

    ``nodes`` lists at most 200 of its scope, by pointer; ``not_indexed`` at most 200 that are not
    indexed, first those that nobody will take up. ``empty`` says why there is no chunk at all.
    ``can_roll_back``: an earlier generation is kept.
    """

    tool: SearchTool
    index: Index
    progress: Progress
    nodes: list[NodeProgress]
    integrity: dict[str, object] | None = None
    not_indexed: list[NodeProgress] = field(default_factory=list)
    empty: EmptyScope | None = None
    rebuild: Rebuild | None = None
    can_roll_back: bool = False


def tool_status(work: UnitOfWork, tool: SearchTool, *, silent_s: float) -> ToolStatus:
    """Returns the counters and nodes of a tool's scope."""
    index = index_of(work, tool)
    scope = tool.scope.json_pointer
    progress = work.node_counts.progress(index, scope, silent_s=silent_s)
    nodes = work.node_counts.in_scope(index, scope, limit=LISTED_NODES)
    reports = work.sweeps.reports(index.id)
    proven = next(
        (each for each in reports if each["namespace"] == index.generation.namespace), None
    )
    not_indexed = work.node_counts.not_indexed(index, scope, limit=LISTED_NODES)
    is_settled = progress.status in ("ready", "rebuilding") and not progress.chunks_count
    empty = empty_scope(work, tool.scope, index, measured=True) if is_settled else None
    rebuild = rebuild_of(work, index, scope, silent_s=silent_s)
    earlier = work.indexes.previous(index.id) is not None
    return ToolStatus(tool, index, progress, nodes, proven, not_indexed, empty, rebuild, earlier)


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool, and how far the index of its scope is."""

    tool: SearchTool
    progress: Progress


@dataclass(frozen=True, slots=True)
class WaitForIndex:
    """Waits until the index of a tool is built, but not for long."""

    store: Store
    silent_s: float
    clock: Clock
    sleep: Callable[[float], None]
    longest_wait_s: float = LONGEST_WAIT_S

    def status(self, tool_id: int, caller: Principal, *, timeout_s: float) -> ToolStatus:
        """Returns the status when the index is no longer being built, or time is up.

        Time is up after ``longest_wait_s``, and at once where others of the project wait already.
        Raises NotFoundError when the tool goes away meanwhile.
        """
        with waiting(self.store, caller.project_id) as may_wait:
            waits_s = min(timeout_s, self.longest_wait_s) if may_wait else 0.0
            return self._waited(tool_id, caller, self.clock.monotonic() + waits_s)

    def _waited(self, tool_id: int, caller: Principal, ends_at: float) -> ToolStatus:
        while True:
            with self.store.for_project(caller.project_id) as work:
                tool = live_tool(work, tool_id, caller)
                status = tool_status(work, tool, silent_s=self.silent_s)
            left_s = ends_at - self.clock.monotonic()
            if status.progress.status != "indexing" or left_s <= 0:
                return status
            self.sleep(min(POLL_S, left_s))


def page_of_tools(
    work: UnitOfWork,
    caller: Principal,
    wanted: ToolsQuery = ALL_TOOLS,
    *,
    after: int,
    limit: int,
    part_of_name: str | None = None,
    silent_s: float,
) -> Page[ListedTool]:
    """Returns Search Tools of the caller's project by id.

    A page with a name may be short. Raises NotFoundError for a table that is not the caller's.
    """
    if wanted.table_id is not None:
        live_table(work, caller, wanted.table_id)
    project_id = caller.project_id
    if part_of_name is None:
        tools = work.tools.page(project_id, wanted, after=after, limit=limit + 1)
        page = page_of(tools, lambda tool: tool.id, limit)
    else:
        page = work.tools.named(
            project_id, part_of_name, wanted, after=after, limit=limit, among=NAMES_LOOKED_AT
        )
    progress = _progress(work, page.rows, silent_s)
    rows = [ListedTool(tool, progress[tool.id]) for tool in page.rows if tool.id in progress]
    return Page(rows, page.next_after)


def _progress(
    work: UnitOfWork, tools: Sequence[SearchTool], silent_s: float
) -> dict[int, Progress]:
    """Asks each index once; a tool whose index went away meanwhile is left out."""
    found: dict[int, Progress] = {}
    for index_id in {tool.index_id for tool in tools}:
        index = work.indexes.find(index_id)
        served = {tool.id: tool.scope.json_pointer for tool in tools if tool.index_id == index_id}
        if index is not None:
            scopes = sorted(set(served.values()))
            progress = work.node_counts.progress_of(index, scopes, silent_s=silent_s)
            found |= {tool_id: progress[scope] for tool_id, scope in served.items()}
    return found
