"""Puts the parts of a search together, for a process or a test."""

from __future__ import annotations

from collections.abc import Callable

from context_search.domain.config import IndexConfig
from context_search.ports.embedding import Embedder
from context_search.ports.store import Store
from context_search.ports.time import Clock
from context_search.ports.vectors import VectorStore
from context_search.services.indexing.evict import UseIndex
from context_search.services.searching.admission import Admission
from context_search.services.searching.breaker import Breaker, Breakers
from context_search.services.searching.embed_question import EmbedQuestion, QuestionVectors
from context_search.services.searching.find_candidates import FindCandidates
from context_search.services.searching.patience import USUAL, Patience
from context_search.services.searching.run_search import RunSearch
from context_search.services.searching.targets import Targets


def run_search(
    store: Store,
    vectors: VectorStore,
    embedder_of: Callable[[IndexConfig], Embedder],
    use_index: UseIndex,
    clock: Clock,
    sleep: Callable[[float], None],
    patience: Patience = USUAL,
) -> RunSearch:
    """Returns a search with caches and circuit breakers of its own; one for each process."""
    admission = Admission(store, clock, sleep)
    embed = EmbedQuestion(embedder_of, QuestionVectors(clock), Breakers(clock))
    find = FindCandidates(store, vectors, embed, admission, Breaker(clock), clock, patience)
    return RunSearch(store, find, admission, use_index, Targets(clock), clock)
