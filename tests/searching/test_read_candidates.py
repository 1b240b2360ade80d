"""What is read of the candidates: every text, or those that a long linear ranking looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from context_search.core.config import SearchConfig
from context_search.core.model import HydratedChunk, Index, Reach
from context_search.ranking.rank import LOOKED_AT, rank
from context_search.ranking.search import LegResults, Question, Target
from context_search.searching.search import with_texts
from tests.contract.store.bench import ModelBench
from tests.faults.simulation.model.live_chunks import ModelLiveChunks

MANY = LOOKED_AT + 30
LINEAR = SearchConfig(fusion="linear", bm25_weight=0.55, vector_weight=0.35)


class SwappedMeanwhile(ModelLiveChunks):
    """One chunk is not there any more when the texts are read."""

    def completed(self, index: Index, chunks: Sequence[HydratedChunk]) -> dict[str, HydratedChunk]:
        return super().completed(index, chunks[1:])


class Candidates:
    """So many indexed strings, all of them found."""

    def __init__(self, count: int, search: SearchConfig = LINEAR) -> None:
        bench = ModelBench()
        table = bench.table([f"harbour number {number}, and a garden" for number in range(count)])
        _, index = bench.tool(table)
        for node_id in bench.enumerate(index):
            bench.finish(node_id)
        with bench.store.for_all("test") as work:
            assert isinstance(work.live_chunks, ModelLiveChunks)
            self.chunks = work.live_chunks
        ids = sorted(bench.ids(index))
        self.target = Target(index, Reach(), search, "ready")
        words = {"harbour": 1.0, "garden": 1.0}
        self.question = Question("harbour garden", words, "hybrid", count, bench.clock.now())
        self.found = LegResults(
            vector={name: 0.9 - place / 1000 for place, name in enumerate(ids[::2])},
            keyword={name: 1 + place / 100 for place, name in enumerate(ids)},
            legs=("vector", "keyword"),
        )

    def read(self, rows: ModelLiveChunks) -> dict[str, HydratedChunk]:
        chunks = self.chunks.hydrate(self.target.index, Reach(), self.found.ids, texts=False)
        return with_texts(rows, self.target, self.question, self.found, chunks).chunks

    def whole(self) -> dict[str, HydratedChunk]:
        return self.chunks.hydrate(self.target.index, Reach(), self.found.ids)


@pytest.mark.parametrize("without", [None, "vector", "keyword"])
def test_a_long_linear_ranking_is_the_same_without_the_texts_behind(without: str | None) -> None:
    candidates = Candidates(MANY)
    if without is not None:
        legs = tuple(leg for leg in candidates.found.legs if leg != without)
        candidates.found = replace(candidates.found, **{without: {}}, legs=legs)  # type: ignore[arg-type]
    target, asked, found = candidates.target, candidates.question, candidates.found
    expected = rank(target, asked, found, candidates.whole()).hits
    hits = rank(target, asked, found, candidates.read(candidates.chunks)).hits
    assert hits[:LOOKED_AT] == expected[:LOOKED_AT]
    assert [hit.score for hit in hits[LOOKED_AT:]] == [hit.score for hit in expected[LOOKED_AT:]]


@pytest.mark.parametrize(
    ("count", "search"), [(MANY, SearchConfig()), (LOOKED_AT, LINEAR), (3, LINEAR)]
)
def test_otherwise_every_text_is_read(count: int, search: SearchConfig) -> None:
    candidates = Candidates(count, search)
    assert candidates.read(candidates.chunks) == candidates.whole()


def test_no_hit_is_without_its_text_because_a_chunk_went_meanwhile() -> None:
    candidates = Candidates(MANY)
    rows = SwappedMeanwhile(candidates.chunks.rows, candidates.chunks.clock)
    assert candidates.read(rows) == candidates.whole()
