"""An answer with all that it was ranked from, to be ranked again in other ways.

The legs are asked once a question; each way of ranking is then the product's own ``rank`` on the
same candidates. It gives what a tool with these settings would have answered, for a hundredth of
the work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from context_search.core.config import SearchConfig
from context_search.core.model import HydratedChunk
from context_search.ranking.measures import DEPTH, TextRange
from context_search.ranking.rank import candidate_texts, rank
from context_search.ranking.reranking import CandidateText
from context_search.ranking.search import LegResults, Question, SearchResult


@dataclass(frozen=True)
class JudgedQuestion:
    """One question and its answer, which has every hit."""

    answer: SearchResult
    question: Question

    @cached_property
    def chunks(self) -> dict[str, HydratedChunk]:
        """The candidates by document id."""
        return {hit.chunk.turbopuffer_doc_id: hit.chunk for hit in self.answer.hits}

    @cached_property
    def texts(self) -> dict[str, CandidateText]:
        """What the second look needs to know of them."""
        return candidate_texts(self.question, self.chunks)

    @property
    def spans(self) -> list[TextRange]:
        """Where the hits stand, as they were answered."""
        return [_span(hit.chunk) for hit in self.answer.hits[:DEPTH]]

    @property
    def relevances(self) -> list[float]:
        """The relevance of every hit, in their order."""
        return [hit.relevance for hit in self.answer.hits]

    @property
    def vector_weight(self) -> float:
        """The weight that the answer gave the vectors, of 1."""
        weights = self.answer.target.weights
        return weights.vector / (weights.vector + weights.bm25)

    def ranked(self, search: SearchConfig) -> list[TextRange]:
        """Returns where the hits of a tool with these settings stand."""
        found = _of_strategy(self.answer.found, search)
        chunks = {name: self.chunks[name] for name in found.ids}
        target = replace(self.answer.target, search=search, used=None)
        ranking = rank(target, self.question, found, chunks, texts=self.texts)
        return [_span(hit.chunk) for hit in ranking.hits[:DEPTH]]


def _of_strategy(found: LegResults, search: SearchConfig) -> LegResults:
    if search.strategy == "keyword":
        return replace(found, vector={}, legs=["keyword"])
    if search.strategy == "semantic":
        return replace(found, keyword={}, legs=["vector"])
    return found


def _span(chunk: HydratedChunk) -> TextRange:
    return TextRange(chunk.json_pointer, chunk.char_start, chunk.char_end)
