"""Answers a question of an agent from the index of one Search Tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from context_search.domain.analysis import has_searchable_character, query_tokens
from context_search.domain.config import IndexConfig, Strategy
from context_search.domain.errors import (
    EmbeddingError,
    EmbeddingTimeoutError,
    NamespaceMissingError,
    QueryEmptyError,
)
from context_search.domain.ids import scope_key
from context_search.domain.model import Index, Principal, Reach, SearchTool
from context_search.domain.progress import IndexStatus
from context_search.ports.embedding import Embedder
from context_search.ports.store import Store
from context_search.ports.vectors import Legs, Ranked, VectorQuery, VectorStore
from context_search.services.evict import UseIndex
from context_search.services.searching.ranking import Candidates, Hit, rank
from context_search.services.status import index_of, live_tool

CANDIDATES_PER_LEG = 50


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits, best first, and how they were found. ``legs`` names the lists that were asked."""

    query: str
    hits: list[Hit]
    mode_requested: Strategy
    mode_used: Strategy
    legs: list[str]
    degraded: list[str]
    index_status: IndexStatus
    include_metadata: bool = True
    max_chunk_preview: int | None = None


@dataclass(frozen=True, slots=True)
class SearchDeadlines:
    """How long a search waits for each part, in seconds."""

    embed_s: float = 5.0
    vectors_s: float = 10.0


@dataclass(frozen=True, slots=True)
class SearchWithTool:
    """One search: embed the question, ask both legs, read the chunks, fuse.

    A failing embedding model degrades the answer to keywords and says so in ``degraded``.
    An evicted index answers nothing, at once, and is built again.
    Raises QueryEmptyError, NotFoundError, and VectorStoreUnavailableError (retryable).
    """

    store: Store
    vectors: VectorStore
    embedder_of: Callable[[IndexConfig], Embedder]
    silent_s: float
    use_index: UseIndex
    deadlines: SearchDeadlines = SearchDeadlines()

    def __call__(
        self, tool_id: int, principal: Principal | None, query: str, top_k: int | None
    ) -> Answer:
        """``principal`` None is a trusted internal caller; ``top_k`` None takes the tool's own."""
        if not has_searchable_character(query):
            raise QueryEmptyError("the query has no letter and no number in it")
        with self.store.transaction() as work:
            tool = live_tool(work, tool_id, principal)
            index = index_of(work, tool)
            status = work.nodes.status(index, stalled_s=self.silent_s)
        self.use_index(index)
        if status == "evicted":
            return _answer(tool, query, [], Legs(), ["index_evicted"], status)
        vector, degraded = self._embed(tool.search.strategy, index, query)
        words = query_tokens(query)
        try:
            legs = self._ask(tool, index, vector, words)
        except NamespaceMissingError:
            legs = Legs()
            degraded += ["namespace_missing"] if self.use_index.lost(index) else []
        found = Candidates(_scores(legs.vector), _scores(legs.keyword))
        with self.store.transaction() as work:
            tool = live_tool(work, tool_id, principal)
            chunks = work.chunks.hydrate(
                index, Reach(tool.scope.json_pointer), list({**found.vector, **found.keyword})
            )
        hits = rank(tool, index, words, found, chunks)
        hits = hits[: top_k or tool.search.top_k]
        return _answer(tool, query, hits, legs, degraded + _incomplete(status), status)

    def _embed(
        self, strategy: Strategy, index: Index, query: str
    ) -> tuple[list[float] | None, list[str]]:
        if strategy == "keyword":
            return None, []
        try:
            embedder = self.embedder_of(index.config)
            return embedder.embed_query(query, timeout_s=self.deadlines.embed_s), []
        except EmbeddingTimeoutError:
            return None, ["embed_timeout"]
        except EmbeddingError:
            return None, ["embed_unavailable"]

    def _ask(
        self, tool: SearchTool, index: Index, vector: list[float] | None, words: list[str]
    ) -> Legs:
        wants_keywords = tool.search.strategy != "semantic" or vector is None
        with_keywords = wants_keywords and index.config.storage == "full"
        question = VectorQuery(
            scope_key=scope_key(tool.scope.json_pointer),
            vector=vector,
            tokens=words if with_keywords and words else None,
            limit=CANDIDATES_PER_LEG,
        )
        if question.vector is None and question.tokens is None:
            return Legs()
        return self.vectors.query(index.namespace, question, timeout_s=self.deadlines.vectors_s)


def _answer(
    tool: SearchTool,
    query: str,
    hits: list[Hit],
    legs: Legs,
    degraded: list[str],
    status: IndexStatus,
) -> Answer:
    asked = {"vector": legs.vector, "keyword": legs.keyword}
    return Answer(
        query=query,
        hits=hits,
        mode_requested=tool.search.strategy,
        mode_used=_mode(legs, tool.search.strategy),
        legs=[name for name, leg in asked.items() if leg is not None],
        degraded=degraded,
        index_status=status,
        include_metadata=tool.search.include_metadata,
        max_chunk_preview=tool.search.max_chunk_preview,
    )


def _scores(leg: Sequence[Ranked] | None) -> dict[str, float]:
    return {row.doc_id: row.score for row in leg or ()}


def _mode(legs: Legs, requested: Strategy) -> Strategy:
    if legs.vector is None and legs.keyword is None:
        return requested
    if legs.vector is None:
        return "keyword"
    return "semantic" if legs.keyword is None else "hybrid"


def _incomplete(status: IndexStatus) -> list[str]:
    return [] if status in ("ready", "rebuilding") else ["partial_index"]
