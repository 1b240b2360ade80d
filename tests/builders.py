"""What many tests make: texts, tables, tools, nodes on their way into the index; and waiting."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from context_search.adapters.postgres.pool import Transaction
from context_search.adapters.postgres.store import PostgresStore
from context_search.domain.config import IndexConfig, SearchConfig
from context_search.domain.documents import to_json
from context_search.domain.model import (
    ChunkSet,
    Claim,
    Index,
    Principal,
    Project,
    Scope,
    SearchTool,
    Table,
)
from context_search.services.chunk_documents import plan
from context_search.services.enumeration import Limits, enumerate_index

T = TypeVar("T")

SMALL = IndexConfig("in-memory/words", 16, threshold=20, chunk_size=100, chunk_overlap=10)
"""Strings of 20 characters are nodes, chunks have 100."""

_ENGLISH = re.findall(
    r"\w+",
    """archive board budget carrier century dividend engine estate ferry garden harbour inquiry
    journal kitchen ledger meadow notary orchard parish quarry railway season tenant uncle valley
    warehouse winter yard zeal""",
)
_CHINESE = "春夏秋冬山水花草鸟鱼城门桥街灯火书信客船风雨雪月东南西北父母兄弟老师学生朋友邻居"


def until(ask: Callable[[], T | None], timeout_s: float = 20.0, *, every_s: float = 0.05) -> T:
    """Asks again and again until the answer is true, and returns it.

    The one place where tests wait. Raises AssertionError when the time is over.
    """
    deadline = time.monotonic() + timeout_s
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not so after {timeout_s:g} s: the last answer was {answer!r}")
        time.sleep(every_s)
    return answer


def an_index() -> Index:
    """An index that is nowhere stored."""
    return Index(
        id=4,
        project_id=1,
        table_id=2,
        config=SMALL,
        generation_id=6,
        namespace="project_1_table_2",
    )


def table_of(index: Index) -> int:
    """The one table of an index that has one."""
    assert index.table_id is not None
    return index.table_id


@contextmanager
def aws_server() -> Iterator[dict[str, str]]:
    """moto's server in this process; gives the environment that leads boto3 to it."""
    from moto.server import ThreadedMotoServer  # a second that few tests need

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }
    finally:
        server.stop()


def english(chars: int, seed: int = 0) -> str:
    """Prose of exactly so many characters, in paragraphs; the same for the same seed."""
    draw = random.Random(f"en{seed}")
    words: list[str] = []
    length = 0
    while length < chars:
        word = draw.choice(_ENGLISH) + draw.choices([" ", ". ", ".\n\n"], [88, 10, 2])[0]
        words.append(word)
        length += len(word)
    return "".join(words)[:chars]


def chinese(chars: int, seed: int = 0) -> str:
    """The same in Chinese."""
    draw = random.Random(f"zh{seed}")
    return "".join(
        draw.choice(_CHINESE) + ("。" if draw.random() < 0.06 else "") for _ in range(chars)
    )[:chars]


def planted(text: str, sentence: str, at: int) -> str:
    """``text`` with ``sentence`` as a paragraph of its own, which begins at character ``at``."""
    return f"{text[: at - 2]}\n\n{sentence}\n\n{text[at:]}"


@dataclass(frozen=True)
class Workbench:
    """One project in a real database, and the steps of indexing one at a time."""

    store: PostgresStore
    project: Project

    @classmethod
    def of(cls, store: PostgresStore) -> Workbench:
        """A workbench with a project of its own."""
        with store.transaction() as work:
            return cls(store, work.projects.add("test"))

    @classmethod
    def alone(cls, store: PostgresStore) -> Workbench:
        """The same in a database that is emptied first."""
        with store.database.transaction() as tx:
            tx.run("TRUNCATE project, index_generation, tombstone, outbox RESTART IDENTITY CASCADE")
        return cls.of(store)

    @property
    def principal(self) -> Principal:
        """The project as a caller."""
        return Principal(self.project.id)

    @contextmanager
    def tx(self) -> Iterator[Transaction]:
        """A transaction for plain SQL."""
        with self.store.database.transaction() as tx:
            yield tx

    def sql(self, statement: str, **parameters: object) -> list[list[Any]]:
        """The rows of one statement in a transaction of its own."""
        with self.tx() as tx:
            return tx.run(statement, **parameters)

    def table(self, document: object) -> Table:
        """A table with this document."""
        with self.store.transaction() as work:
            return work.tables.add(self.project.id, "table", None, to_json(document))

    def tool(
        self,
        table: Table,
        scope: str = "",
        *,
        config: IndexConfig = SMALL,
        name: str = "search",
        search: SearchConfig | None = None,
    ) -> tuple[SearchTool, Index]:
        """A tool with the index that serves it; nothing is enumerated."""
        with self.store.transaction() as work:
            work.tables.lock(table.id)
            index = work.indexes.find_or_add(
                project_id=self.project.id, table_id=table.id, config=config
            )
            tool_id = work.tools.add(
                project_id=self.project.id,
                name=name,
                description=None,
                scope=Scope(table.id, scope),
                search=search or SearchConfig(),
            )
            work.indexes.cover(index.id, tool_id=tool_id, scope=scope)
            tool = work.tools.find(tool_id, project_id=None)
        assert tool is not None
        return tool, index

    def index(self, index_id: int) -> Index:
        """The index as it is stored now."""
        with self.store.transaction() as work:
            index = work.indexes.find(index_id)
        assert index is not None
        return index

    def enumerate(self, index: Index, limits: Limits | None = None) -> list[int]:
        """Makes the nodes those of the document; returns the ids of what has to be indexed."""
        with self.store.transaction() as work:
            assert work.indexes.lock(index)
            return enumerate_index(work, index, table_of(index), limits or Limits())

    def claim(self, node_id: int, *, lease_s: float = 60.0) -> Claim:
        """Takes a node that is due."""
        with self.store.transaction() as work:
            claim = work.nodes.claim(node_id, lease_s=lease_s)
        assert claim is not None
        return claim

    def begin(self, claim: Claim) -> ChunkSet:
        """Writes the chunk rows of a claimed node."""
        with self.store.transaction() as work:
            return work.chunks.begin_set(claim, plan(claim))

    def finish(self, claim: Claim) -> ChunkSet:
        """Writes the chunk rows, says that turbopuffer has them, and activates the set."""
        chunk_set = self.begin(claim)
        with self.store.transaction() as work:
            work.chunks.mark_present(chunk_set.id, [chunk.index for chunk in chunk_set.chunks])
            assert work.chunks.activate(claim, chunk_set.id)
        return chunk_set

    def indexed(self, index: Index) -> list[ChunkSet]:
        """Enumerates and brings every queued node to its end; returns their sets."""
        return [self.finish(self.claim(node_id)) for node_id in self.enumerate(index)]


def count(bench: Workbench, table: str) -> int:
    """How many rows a table has, of all projects."""
    [[rows]] = bench.sql(f"SELECT count(*) FROM {table}")
    return int(rows)
