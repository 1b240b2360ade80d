"""Contract of ``KeywordIndex``."""

from __future__ import annotations

import pytest

from context_search.domain.analysis import query_tokens, tokens
from context_search.domain.bm25 import idf, term_weight
from context_search.domain.errors import KeywordTimeoutError
from context_search.domain.model import ChunkSet, Index, Reach, SearchTool
from context_search.ports.keywords import ChunkTokens
from tests.builders import chinese, english
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench

EVERYWHERE = Reach()


def put(bench: Bench, chunk_set: ChunkSet) -> None:
    with bench.store.transaction() as work:
        work.keywords.put([ChunkTokens(one.id, tokens(one.text)) for one in chunk_set.chunks])


def searchable(bench: Bench, document: object) -> tuple[SearchTool, Index]:
    """A tool over a document, all of it indexed, words too."""
    tool, index = bench.tool(bench.table(document))
    for node_id in bench.enumerate(index):
        put(bench, bench.finish(node_id))
    return tool, bench.index(index.id)


def found(
    bench: Bench, index: Index, query: str, reach: Reach = EVERYWHERE, limit: int = 50
) -> list[tuple[str, float]]:
    """Document ids and scores, best first."""
    with bench.store.transaction() as work:
        ranked = work.keywords.best(index, reach, query_tokens(query), limit, timeout_s=9)
    return [(one.doc_id, one.score) for one in ranked]


def pointers(bench: Bench, tool: SearchTool, index: Index, ranked: list[tuple[str, float]]) -> list[str]:
    ids = [doc_id for doc_id, _ in ranked]
    with bench.store.transaction() as work:
        chunks = work.chunks.hydrate(tool, index, ids)
    return [chunks[doc_id].json_pointer for doc_id in ids]
