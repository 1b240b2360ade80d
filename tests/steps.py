"""The steps of indexing one at a time, over any store; builders.py has the texts and settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.model import ChunkSet, Claim, Index, Scope, SearchTool, Table
from context_search.indexing.comparing import Limits, enumerate_index
from context_search.indexing.rules.chunks import WORDS_WAIT_S
from context_search.indexing.vector_rows import plan, tokens_of
from context_search.store import Store, UnitOfWork

SMALL = IndexConfig("in-memory/words", 16, threshold=20, chunk_size=100, chunk_overlap=10)
"""Strings of 20 characters are nodes, chunks have 100."""


def table_of(index: Index) -> int:
    """The one table of an index that has one."""
    assert index.table_id is not None
    return index.table_id


@dataclass(frozen=True)
class _Repository:
    """A repository of a store, each call of which is a transaction of its own."""

    store: Store
    name: str

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*values: object, **named: object) -> object:
            with self.store.for_all("test") as work:
                return getattr(getattr(work, self.name), method)(*values, **named)

        return call


@dataclass(frozen=True)
class _Repositories:
    store: Store

    def __getattr__(self, name: str) -> _Repository:
        return _Repository(self.store, name)


class Steps:
    """What create, the workers and the swap do to a store, without the parts around it."""

    store: Store

    @property
    def work(self) -> UnitOfWork:
        """The repositories; each call of one is a transaction of its own, for all projects."""
        return cast("UnitOfWork", _Repositories(self.store))

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
        with self.store.for_all("test") as work:
            work.tables.lock(table.id)
            index = work.indexes.find_or_add(
                project_id=table.project_id, table_id=table.id, config=config
            )
            tool_id = work.tools.add(
                project_id=table.project_id,
                name=name,
                description=None,
                scope=Scope(table.id, scope),
                search=search or SearchConfig(),
            )
            work.comparisons.cover(index.id, tool_id=tool_id, scope=scope)
            tool = work.tools.find(tool_id, project_id=None)
        assert tool is not None
        return tool, index

    def index(self, index_id: int) -> Index:
        """The index as it is stored now."""
        index = self.work.indexes.find(index_id)
        assert index is not None
        return index

    def enumerate(self, index: Index, limits: Limits | None = None) -> list[int]:
        """Makes the nodes those of the document; returns the ids of what has to be indexed."""
        with self.store.for_all("test") as work:
            assert work.indexes.lock(index)
            return enumerate_index(work, index, table_of(index), limits or Limits())

    def try_claim(self, node_id: int, *, lease_s: float = 60.0) -> Claim | None:
        """Takes a node if it may be taken."""
        return self.work.nodes.claim(node_id, lease_s=lease_s)

    def claim(self, node_id: int, *, lease_s: float = 60.0) -> Claim:
        """Takes a node that may be taken."""
        claim = self.try_claim(node_id, lease_s=lease_s)
        assert claim is not None
        return claim

    def begin(self, claim: Claim) -> ChunkSet:
        """Writes the chunk rows of a claimed node."""
        with self.store.for_all("test") as work:
            [chunk_set] = work.chunks.begin_sets([(claim, plan(claim))])
            return chunk_set

    def mark(self, chunk_set: ChunkSet) -> None:
        """Says that turbopuffer has all chunks of a set."""
        self.work.chunks.mark_present([chunk.id for chunk in chunk_set.chunks])


def write_words(store: Store, limit: int = 500, wait_s: float = WORDS_WAIT_S) -> int:
    """What a step of cleanup does with words that are written later; returns how many chunks'."""
    with store.for_all("test") as work:
        taken = work.chunks.take_wordless(limit=limit, wait_s=wait_s)
        keyed = [tokens for one in taken for tokens in tokens_of(one)]
        work.keywords.put(keyed)
    return len(keyed)
