"""Keyword search over dictionaries: BM25 of every chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from context_search.core.model import Index, Reach
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.integrations.ports import Ranked
from context_search.ranking.bm25 import idf, term_weight
from context_search.searching.sql.keywords import Keywords
from tests.faults.simulation.model.comparisons import may_match
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import ChunkRow, NodeRow


class ModelKeywords(Model, Keywords):
    """``Keywords`` over rows in memory. It takes no time, so it never takes too long."""

    def put(self, chunks: Sequence[ChunkTokens]) -> None:
        """Keeps the tokens beside their chunk."""
        for chunk in chunks:
            row = self.rows.chunks.get(chunk.chunk_id)
            if row and row.tokens is None:
                self.rows.change(self.rows.chunks, row.id, tokens=tuple(chunk.tokens))

    def best(
        self,
        index: Index,
        reach: Reach,
        words: Mapping[str, float],
        limit: int,
        *,
        timeout_s: float,
    ) -> list[Ranked]:
        """Scores every chunk."""
        active = self._active(index)
        counts = {row.doc_id: Counter(row.tokens) for row in active}
        scores = _scores(counts, words)
        found = [
            Ranked(row.doc_id, scores[row.doc_id])
            for row in active
            if row.doc_id in scores and reach.covers(row.table_id, row.json_pointer)
            if may_match(self.rows, self._node_of(row), reach.filter)
        ]
        return sorted(found, key=lambda one: (-one.score, one.doc_id))[:limit]

    def _node_of(self, row: ChunkRow) -> NodeRow:
        return self.rows.nodes[self.rows.sets[row.set_id].node_id]

    def _active(self, index: Index) -> list[ChunkRow]:
        sets = {
            node.active_set_id
            for node in self.rows.nodes.values()
            if node.generation_id == index.generation.id
        }
        return [
            row
            for row in self.rows.chunks.values()
            if row.set_id in sets and row.tokens is not None
        ]


def _scores(counts: Mapping[str, Counter[str]], words: Mapping[str, float]) -> dict[str, float]:
    mean = sum(count.total() for count in counts.values()) / (len(counts) or 1)
    scores: dict[str, float] = {}
    for word, asked in words.items():
        having = {name: count for name, count in counts.items() if word in count}
        worth = asked * idf(len(having), len(counts))
        for name, count in having.items():
            weight = term_weight(count[word], count.total(), mean)
            scores[name] = scores.get(name, 0.0) + worth * weight
    return scores
