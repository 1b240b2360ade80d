"""A project with documents, Search Tools over them, and agents: what reading is tested with."""

from __future__ import annotations

from dataclasses import replace

from context_search.catalog.tables import ManageTables
from context_search.core.callers import McpKey, McpSettings, Principal, ProjectKey
from context_search.core.config import SearchConfig
from context_search.core.filters import parse_filter
from context_search.core.model import Index, Project, SearchTool, Table
from tests.contract.store.bench import PostgresBench
from tests.steps import SMALL


class Library:
    """The rows of one project. Strings of ``threshold`` characters are in the indexes."""

    def __init__(self, bench: PostgresBench, *, threshold: int = 10) -> None:
        self.bench = bench
        self.store = bench.store
        self.project: Project = bench.project()
        self.config = replace(SMALL, threshold=threshold)

    @property
    def owner(self) -> Principal:
        """A key of the project."""
        return ProjectKey(self.project.id)

    def table(self, document: object) -> Table:
        """A document that no tool searches."""
        return self.bench.table(document, self.project)

    def tool(self, table: Table, scope: str = "", *, where: object = None) -> SearchTool:
        """A Search Tool whose index has the document as it is now."""
        search = SearchConfig(where=None if where is None else parse_filter(where))
        tool, index = self.bench.tool(table, scope, config=self.config, search=search)
        self._index(index, table)
        return tool

    def agent(self, *tools: SearchTool, redacts: bool = False) -> McpKey:
        """An agent of an instance with these tools."""
        with self.store.for_all("test") as work:
            mcp = work.mcp_instances.add(self.project.id, "agents", McpSettings(redacts=redacts))
            for tool in tools:
                work.mcp_instances.bind(mcp.id, tool.id, status=True)
        return McpKey(self.project.id, mcp.id, redacts=redacts)

    def write(self, table: Table, document: object) -> None:
        """Writes another document as the API does, which records the version before."""
        ManageTables(self.store).replace(self.owner, table.id, document)

    def change(self, table: Table, document: object, *tools: SearchTool) -> None:
        """Writes another document, and compares it with the indexes of some tools."""
        self.bench.change(table, document)
        for tool in tools:
            self._index(self.bench.index(tool.index_id), table)

    def _index(self, index: Index, table: Table) -> None:
        for node_id in self.bench.compare(index, table):
            self.bench.finish(node_id)
