"""One store under the contract, time that can be moved, and the steps of indexing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import pytest

from context_search.core.callers import Principal, ProjectKey
from context_search.core.config import IndexConfig
from context_search.core.ids import pointer_sha256
from context_search.core.json_text import to_json
from context_search.core.model import ChunkSet, Claim, Index, Project, SearchTool, Table
from context_search.indexing.comparing import Limits, enumerate_index
from context_search.integrations.ports import MessageBody
from context_search.maintenance.rules.removals import Tombstone
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from testing.in_memory.clock import ManualClock
from tests.builders import PlainSql, english, present
from tests.faults.simulation.model.catalog import ModelTables
from tests.faults.simulation.model.removals import remove_nodes
from tests.faults.simulation.model.store import ModelStore
from tests.stack import clear_rows
from tests.steps import SMALL, Steps, table_of

TEXT = english(250)
"""Three chunks under SMALL."""
OTHER = english(180, seed=9)
"""Two chunks."""

only_postgres = pytest.mark.parametrize(
    "bench", [pytest.param("postgres", marks=pytest.mark.stack)], indirect=True
)
"""For a test of what the simulation does not run, or of several transactions at a time."""


class Bench(Steps, ABC):
    """A store that is empty at first."""

    @abstractmethod
    def pass_time(self, seconds: float) -> None:
        """Makes everything that is stored older."""

    @abstractmethod
    def delete_by_hand(self, node_id: int) -> None:
        """Deletes the row of a node beside all our code."""

    def messages(self) -> list[MessageBody]:
        """Takes every message that waits; they are claimed then."""
        projects = sorted(self.work.outbox.waiting(limit=100))
        taken = [self.work.outbox.take(project, window=1_000) for project in projects]
        return [dict(body) for orders in taken for _, body in orders]

    def lose_messages(self) -> None:
        """Empties the outbox."""
        with self.store.for_all("test") as work:
            projects = sorted(work.outbox.waiting(limit=100))
            taken = [work.outbox.take(project, window=1_000) for project in projects]
            for message_id, _ in (order for orders in taken for order in orders):
                work.outbox.finish(message_id)

    @abstractmethod
    def put_away(self, row: Table | SearchTool, *, back: bool = False) -> None:
        """Puts a row into its owner's trash, or takes it out, beside all our code."""

    @abstractmethod
    def move(self, row: Table | SearchTool, project: int) -> None:
        """Gives a row to another project, beside all our code."""

    @abstractmethod
    def delete_words_by_hand(self, generation_id: int) -> None:
        """Deletes the words of a generation's chunks beside all our code."""

    def project(self) -> Project:
        """A new project."""
        return self.work.projects.add("p")

    def table(self, document: object, project: Project | None = None) -> Table:
        """A new table, in a project of its own unless one is given."""
        owner = project or self.project()
        return self.work.tables.add(owner.id, "t", None, to_json(document))

    def served(self, document: object, project: Project | None = None) -> tuple[Table, Index]:
        """A new table, and the index of a tool over all of it; nothing is enumerated."""
        table = self.table(document, project)
        return table, self.tool(table)[1]

    def change(self, table: Table, document: object) -> Table:
        """Writes another document; nothing is compared."""
        return present(
            self.work.tables.replace(table.id, to_json(document), expected_revision=None)
        )

    def delete(self, table: Table) -> None:
        """Deletes a table for its users."""
        self.work.tables.mark_deleted(table.id)

    def project_index(self, project_id: int, config: IndexConfig = SMALL) -> Index:
        """The index over all tables of a project, switched on now; nothing is enumerated."""
        with self.store.for_all("test") as work:
            assert work.projects.lock(project_id)
            return work.indexes.add_to_project(project_id, config)

    def compare(self, index: Index, table: Table) -> list[int]:
        """Makes the nodes that an index has of a table those of its document."""
        with self.store.for_all("test") as work:
            assert work.tables.lock(table.id) is not None
            work.indexes.share(index)
            return enumerate_index(work, index, table.id, Limits())

    def is_compared(self, index: Index) -> bool:
        """Whether a generation follows its tables as they are now."""
        return self.work.comparisons.is_compared(index)

    def node(self, text: str = TEXT) -> tuple[Index, int]:
        """An index over one string at /a, and its queued node."""
        _, index = self.tool(self.table({"a": text}))
        [node_id] = self.enumerate(index)
        return index, node_id

    def node_at(self, index: Index, json_pointer: str) -> int:
        """The node at a pointer."""
        known = self.work.nodes.known(index.generation.id, table_of(index))
        ids = {node.pointer_sha256: node.id for node in known}
        return ids[pointer_sha256(json_pointer)]

    def activate(self, claim: Claim, chunk_set: ChunkSet) -> bool:
        """The swap."""
        with self.store.for_all("test") as work:
            held = work.nodes.hold([claim], lease_s=60)
            return bool(work.chunks.activate([(claim, chunk_set) for claim in held]))

    def finish(self, node_id: int) -> ChunkSet:
        """Takes a node to its end."""
        claim = self.claim(node_id)
        chunk_set = self.begin(claim)
        self.mark(chunk_set)
        assert self.activate(claim, chunk_set)
        return chunk_set

    def finish_all(self, index: Index) -> list[ChunkSet]:
        """Compares an index with its table, and takes what has to be indexed to its end."""
        return [self.finish(node_id) for node_id in self.enumerate(index)]

    def indexed(self, document: object, scope: str = "") -> tuple[SearchTool, Index]:
        """A tool over a document, all of it indexed."""
        tool, index = self.tool(self.table(document), scope)
        self.finish_all(index)
        return tool, self.index(index.id)

    def ids(self, index: Index) -> list[str]:
        """The document ids of all present chunks of a generation."""
        found = self.work.sweeps.present_after(index.generation.namespace, "", 10_000)
        return [doc_id for doc_id, _ in found]

    def tombstones(self, *, older_than_s: float = 0.0) -> list[Tombstone]:
        """What waits to leave turbopuffer."""
        return self.work.removals.tombstones(older_than_s=older_than_s, limit=10_000)

    def principal(self, table: Table) -> Principal:
        """The owner of a table as a caller."""
        return ProjectKey(table.project_id)


@dataclass
class ModelBench(Bench):
    """The model of the store; tests move its clock by hand."""

    def __post_init__(self) -> None:
        self.clock = ManualClock()
        self.clock.advance(1e6)
        store = ModelStore(self.clock)
        self.store, self.rows = store, store.rows

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def delete_by_hand(self, node_id: int) -> None:
        with self.store.for_all("test"):
            remove_nodes(self.rows, self.clock, [node_id])

    def put_away(self, row: Table | SearchTool, *, back: bool = False) -> None:
        with self.store.for_all("test"):
            if isinstance(row, Table):
                ModelTables(self.rows, self.clock).put_away(row.id, back=back)
            else:
                self.rows.change(self.rows.tools, row.id, deleted=not back)

    def move(self, row: Table | SearchTool, project: int) -> None:
        with self.store.for_all("test"):
            if isinstance(row, Table):
                self.rows.change(self.rows.tables, row.id, project_id=project)
            else:
                self.rows.change(self.rows.tools, row.id, project_id=project)

    def delete_words_by_hand(self, generation_id: int) -> None:
        with self.store.for_all("test"):
            for row in list(self.rows.chunks.values()):
                node = self.rows.nodes[self.rows.sets[row.set_id].node_id]
                if node.generation_id == generation_id and row.tokens is not None:
                    self.rows.change(self.rows.chunks, row.id, tokens=None)
                    self.rows.words_backlog[row.set_id] = self.clock.now()


class PostgresBench(Bench, PlainSql):
    """Postgres; time passes by making every timestamp earlier."""

    store: PostgresStore

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = PostgresStore(database)
        clear_rows(database)

    @cached_property
    def columns(self) -> list[list[str]]:
        """Table and name of every column with a time in it."""
        with self.tx() as tx:
            return tx.run(
                """
                SELECT table_name, column_name FROM information_schema.columns
                JOIN pg_tables ON tablename = table_name AND schemaname = table_schema
                WHERE table_schema IN ('public', 'context_search')
                  AND data_type = 'timestamp with time zone'
                """
            )

    def pass_time(self, seconds: float) -> None:
        columns = self.columns
        with self.tx() as tx:
            for table, column in columns:
                tx.run(
                    f"UPDATE {table} SET {column} = {column} - make_interval(secs => :s)", s=seconds
                )
            tx.run("UPDATE ledger SET day = day - CAST(:days AS int)", days=int(seconds // 86_400))
            tx.run(
                """
                UPDATE index_generation SET integrity = integrity || jsonb_build_object('at',
                    CAST(integrity ->> 'at' AS timestamptz) - make_interval(secs => :s))
                WHERE integrity IS NOT NULL
                """,
                s=seconds,
            )

    def delete_by_hand(self, node_id: int) -> None:
        with self.tx() as tx:
            tx.run("DELETE FROM node WHERE id = :id", id=node_id)

    def put_away(self, row: Table | SearchTool, *, back: bool = False) -> None:
        name = "context_table" if isinstance(row, Table) else "tool"
        at = "NULL" if back else "now()"
        with self.tx() as tx:
            tx.run(f"UPDATE {name} SET deleted_at = {at} WHERE id = :id", id=row.id)

    def move(self, row: Table | SearchTool, project: int) -> None:
        name = "context_table" if isinstance(row, Table) else "tool"
        with self.tx() as tx:
            tx.run(f"UPDATE {name} SET project_id = :to WHERE id = :id", to=project, id=row.id)

    def delete_words_by_hand(self, generation_id: int) -> None:
        with self.tx() as tx:
            tx.run("DELETE FROM chunk_words WHERE generation_id = :id", id=generation_id)
