"""How a search of the simulation is put together."""

from __future__ import annotations

from dataclasses import replace

from context_search.budgets.spending import NO_LIMITS
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.indexing.use_index import IndexUse
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search import Searcher, SearchLimits, searcher
from testing.in_memory.clock import ManualClock
from testing.in_memory.reranker import no_reranker
from tests.faults.simulation.parts import SimEmbedder, SimStore, SimVectors


def simulated_search(
    store: OutboxDelivery,
    vectors: SimVectors,
    embedder: SimEmbedder,
    clock: ManualClock,
    silent_s: float,
    calibrates_from: int | None,
) -> Searcher:
    """Returns the pipeline over the simulated parts; waiting moves the clock."""
    use_index = IndexUse(store, calibrates_from)
    made = searcher(
        store,
        vectors,
        lambda _: embedder,
        no_reranker,
        use_index,
        clock,
        clock.advance,
        SearchLimits(silent_s, Timeouts(), NO_LIMITS),
    )
    sim = store.inner
    assert isinstance(sim, SimStore)
    # Giving its place back is no step of a search: an answer is judged as of its last read.
    return replace(made, admission=replace(made.admission, store=sim.inner))
