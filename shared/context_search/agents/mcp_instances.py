"""MCP instances: which Search Tools an agent gets, and the keys it comes with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from context_search.access.authenticate import KeyAuthenticator
from context_search.access.keys import (
    KeyOptions,
    ShownKey,
    add_key,
    check_lifetime,
    check_may_give,
    missing_mcp,
)
from context_search.agents.list_tools import unique_names
from context_search.budgets.bounds import check_bound
from context_search.core.callers import (
    NEW_MCP,
    Binding,
    KeyOwner,
    McpChanges,
    McpInstance,
    McpKey,
    McpSettings,
    Principal,
)
from context_search.core.errors import ConflictError, NotFoundError, UnauthenticatedError
from context_search.core.limits import ProjectBounds
from context_search.core.model import SearchTool, ToolRecord
from context_search.core.pages import PAGE, Page, page_of
from context_search.store import Store, UnitOfWork


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A live tool in an instance, under the name that agents call it by."""

    binding: Binding
    tool: SearchTool
    name: str


@dataclass(frozen=True, slots=True)
class ManageMcps:
    """The instances of a project, and what an outside MCP service has to know of one."""

    store: Store
    keys: KeyAuthenticator
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    def create(
        self,
        caller: Principal,
        name: str,
        bindings: Sequence[tuple[int, bool]],
        settings: McpSettings = NEW_MCP,
        *,
        lifetime_s: float | None = None,
    ) -> tuple[McpInstance, ShownKey]:
        """Makes an instance with its first key, which is shown this once.

        ``bindings`` are tool ids and whether they are enabled; all of them or nothing is done.
        ``lifetime_s`` is of the key.
        Raises NotFoundError for a tool that is missing or foreign, ConflictError for one twice,
        ProjectFullError, and PermissionDeniedError for a caller who may not search, may not replace
        what the instance's agents may, or makes a key that would outlive its own, InvalidInputError
        where it would live longer than one made with a token may.
        """
        with self.store.for_project(caller.project_id) as work:
            check_bound(work, caller.project_id, "mcps", self.bounds, more=1)
            mcp = work.mcp_instances.add(caller.project_id, name, settings)
            for tool_id, status in bindings:
                bind(work, caller, mcp.id, tool_id, status=status)
            owner, options = KeyOwner(caller.project_id, mcp.id), KeyOptions(name, lifetime_s)
            made = add_key(work, owner, options, caller, self.bounds)
            check_lifetime(made, lifetime_s, caller)
            return mcp, made

    def change(self, caller: Principal, mcp_id: int, changes: McpChanges) -> McpInstance:
        """Changes an instance; agents that may execute from now on ask first, unless it says not.

        What agents read lies in the scope of tools that the caller could give them anyway.

        Raises NotFoundError, and PermissionDeniedError where its agents may replace more
        afterwards and the caller may not replace.
        """
        with self.store.for_project(caller.project_id) as work:
            before = _locked(work, caller, mcp_id)
            if before.replacing != "execute" == changes.replacing and not changes.confirmation:
                changes = replace(changes, confirmation="required")
            changed = work.mcp_instances.change(mcp_id, changes)
            if changed.gives_more_than(before):
                check_may_give(caller, changed.also_opens)
            return changed

    def delete(self, caller: Principal, mcp_id: int) -> None:
        """Deletes an instance with its keys and bindings. Raises NotFoundError."""
        with self.store.for_project(caller.project_id) as work:
            own_mcp(work, caller, mcp_id)
            work.mcp_instances.remove(mcp_id)

    def describe(self, key: str) -> tuple[McpInstance, list[tuple[BoundTool, ToolRecord]]]:
        """Returns the instance of a key and its enabled tools, each with its record.

        A record is what the main service keeps of a tool. Raises NotFoundError for a key that is
        not that of an enabled instance.
        """
        try:
            caller = self.keys.caller_of(key)
        except UnauthenticatedError as error:
            raise NotFoundError("no MCP instance has this key") from error
        if not isinstance(caller, McpKey):
            raise NotFoundError("no MCP instance has this key")
        bound: list[BoundTool] = []
        after: int | None = 0
        with self.store.for_project(caller.project_id) as work:
            mcp = own_mcp(work, caller, caller.mcp_id)
            while after is not None:
                page = page_of_bindings(work, mcp, after=after)
                bound += [tool for tool in page.rows if tool.binding.status]
                after = page.next_after
            records = work.tools.records([each.tool.id for each in bound])
        return mcp, [(each, records[each.tool.id]) for each in bound]


@dataclass(frozen=True, slots=True)
class ManageBindings:
    """The tools of an instance: add, enable or disable, take out.

    Every method raises NotFoundError for what is missing, deleted or foreign, and
    PermissionDeniedError where agents could replace in one more tool's scope and the caller may
    not replace.
    """

    store: Store

    def add(self, caller: Principal, mcp_id: int, tool_id: int, *, status: bool) -> BoundTool:
        """Raises ConflictError when the tool is bound already."""
        with self.store.for_project(caller.project_id) as work:
            check_may_give(caller, _locked(work, caller, mcp_id).also_opens)
            bound = bind(work, caller, mcp_id, tool_id, status=status)
            return _named(work, [bound])[0]

    def set_status(
        self, caller: Principal, mcp_id: int, tool_id: int, *, status: bool
    ) -> BoundTool:
        """Enables or disables a binding."""
        with self.store.for_project(caller.project_id) as work:
            mcp = own_mcp(work, caller, mcp_id)
            if status:
                check_may_give(caller, mcp.also_opens)
            tool = work.tools.find(tool_id, project_id=caller.project_id)
            binding = work.mcp_instances.set_status(mcp_id, tool_id, status=status)
            if tool is None or binding is None:
                raise NotFoundError("there is no such binding")
            return _named(work, [(binding, tool)])[0]

    def remove(self, caller: Principal, mcp_id: int, tool_id: int) -> None:
        """Takes a tool out; the tool itself stays."""
        with self.store.for_project(caller.project_id) as work:
            own_mcp(work, caller, mcp_id)
            if not work.mcp_instances.unbind(mcp_id, tool_id):
                raise NotFoundError("there is no such binding")


def own_mcp(work: UnitOfWork, caller: Principal, mcp_id: int) -> McpInstance:
    """Returns an instance of the caller's project. Raises NotFoundError."""
    mcp = work.mcp_instances.find(mcp_id, project_id=caller.project_id)
    if mcp is None:
        raise missing_mcp()
    return mcp


def _locked(work: UnitOfWork, caller: Principal, mcp_id: int) -> McpInstance:
    """Returns it as it stays until the transaction ends. Raises NotFoundError."""
    mcp = work.mcp_instances.lock(mcp_id, project_id=caller.project_id)
    if mcp is None:
        raise missing_mcp()
    return mcp


def bind(
    work: UnitOfWork, caller: Principal, mcp_id: int, tool_id: int, *, status: bool
) -> tuple[Binding, SearchTool]:
    """Raises NotFoundError for a foreign tool, ConflictError for one that is bound already."""
    tool = work.tools.find(tool_id, project_id=caller.project_id)
    if tool is None:
        raise NotFoundError("there is no such tool")
    binding = work.mcp_instances.bind(mcp_id, tool_id, status=status)
    if binding is None:
        raise ConflictError("the tool is bound to this MCP instance already")
    return binding, tool


def page_of_bindings(work: UnitOfWork, mcp: McpInstance, *, after: int) -> Page[BoundTool]:
    """Returns bindings of an instance by tool id, disabled ones too."""
    rows = work.mcp_instances.bindings(mcp.id, after=after, limit=PAGE + 1)
    page = page_of(rows, lambda row: row[1].id)
    return Page(_named(work, page.rows), page.next_after)


def _named(work: UnitOfWork, rows: Sequence[tuple[Binding, SearchTool]]) -> list[BoundTool]:
    names = unique_names(work, [tool for _, tool in rows])
    return [BoundTool(binding, tool, names[tool.id]) for binding, tool in rows]
