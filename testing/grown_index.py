"""An index of many strings, made of rows: no text is cut, embedded or sent."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.tables import ManageTables
from context_search.catalog.tools import ManageTools, NewSearchTool
from context_search.core.callers import ProjectKey
from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.model import Index, Scope, SearchTool, Table
from context_search.indexing.comparing import Limits
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from testing.grown_rows import write_strings

CONFIG = IndexConfig("in-memory/words", 16, threshold=20, chunk_size=200, chunk_overlap=10)
SILENT_S = 180.0


@dataclass(frozen=True, slots=True)
class GrownIndex:
    """A project with one table, whose Search Tool is ready: a chunk for each of its strings."""

    store: PostgresStore
    tools: ManageTools
    owner: ProjectKey
    table: Table
    tool: SearchTool
    index: Index

    @classmethod
    def of(cls, database: Database, count: int) -> GrownIndex:
        """Makes one of ``count`` strings. The login has to be a superuser's."""
        store = PostgresStore(database)
        tools = ManageTools(store, Limits(), SILENT_S)
        with store.for_all("create a project") as work:
            owner = ProjectKey(work.projects.add("grown").id)
        table = ManageTables(store).create(owner, "table", None, {"strings": []})
        made = tools.create(wanted_tool(owner, table, "/strings"))
        generation = made.index.generation
        write_strings(
            database,
            count,
            table_id=table.id,
            generation_id=generation.id,
            namespace=generation.namespace,
        )
        with database.transaction() as tx:
            tx.run("SELECT mend_node_tally(:generation)", generation=generation.id)
        return cls(store, tools, owner, table, made.tool, made.index)


def wanted_tool(owner: ProjectKey, table: Table, scope: str) -> NewSearchTool:
    """Returns what makes a Search Tool over a part of a table."""
    place = Scope(table.id, scope)
    return NewSearchTool(owner.project_id, "search", None, place, CONFIG, SearchConfig())
