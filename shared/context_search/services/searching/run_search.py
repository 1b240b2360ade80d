"""One search from question to ranked hits, whatever it looks through."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace

from context_search.domain.config import Strategy
from context_search.domain.errors import QueryEmptyError, SearchUnavailableError
from context_search.domain.model import HydratedChunk, Reach
from context_search.domain.text.analysis import has_searchable_character, query_weights
from context_search.ports.store import Store, UnitOfWork
from context_search.ports.time import Clock, Deadline
from context_search.services.indexing.evict import UseIndex
from context_search.services.searching.admission import Admission
from context_search.services.searching.answer import (
    Answer,
    Degradation,
    Found,
    Question,
    Target,
)
from context_search.services.searching.find_candidates import FindCandidates
from context_search.services.searching.ranking import rank
from context_search.services.searching.read_candidates import read_candidates, shared_by
from context_search.services.searching.stopwatch import Stopwatch
from context_search.services.searching.targets import Targets
from context_search.services.searching.widening import best_live, enough

Open = Callable[[UnitOfWork], Target]
"""Reads what is searched; raises NotFoundError when it is gone or somebody else's."""

CANDIDATES_PER_LEG = 50
ROUNDS = 3
"""So often at most a search asks, because what it asks was switched or moved meanwhile, or most of
what it found is not live any more."""


@dataclass(frozen=True, slots=True)
class RunSearch:
    """Embed the question, ask both legs, read the chunks, fuse.

    An evicted index answers nothing, at once, and is built again.
    """

    store: Store
    find: FindCandidates
    admission: Admission
    use_index: UseIndex
    targets: Targets
    clock: Clock

    def __call__(
        self,
        key: Hashable,
        open_target: Open,
        query: str,
        *,
        strategy: Strategy | None = None,
        candidates: int = CANDIDATES_PER_LEG,
        shown: int | None = None,
    ) -> Answer:
        """Returns all ranked hits. ``key`` names the target and its caller for a short memory.

        ``strategy`` None is the target's own; ``candidates`` are per leg, at most 10,000. So many
        hits as are ``shown`` (None: the target's ``top_k``) are ranked where there are so many.
        It takes no longer than its ``Patience``, switches of the index included.
        Raises QueryEmptyError, NotFoundError, BackpressureError and SearchUnavailableError.
        """
        if not has_searchable_character(query):
            raise QueryEmptyError(
                "the query has no letter and no number in it; emoji and signs are not searched for"
            )
        watch = Stopwatch(self.clock)
        deadline = self.find.patience.from_now(self.clock)
        with watch.timing("total"):
            known = self.targets.get(key)
            target = known or self._open(open_target, watch, deadline)
            with self.admission.admitted(target.index.project_id, deadline):
                wanted = candidates
                for rounds_left in reversed(range(ROUNDS)):
                    if target.status == "evicted":
                        return self._evicted(key, target, strategy, query, watch, deadline)
                    asked = strategy or target.search.strategy
                    words, now = query_weights(query), self.clock.now()
                    wish = target.search.top_k if shown is None else shown
                    question = Question(query, words, asked, candidates, now, wish)
                    wider = replace(question, candidates=wanted)
                    found = self.find(target, wider, deadline)
                    if "namespace_missing" in found.degraded:
                        self.use_index.lost(target.index, deadline)
                    self.use_index(target.index, deadline)
                    fresh, chunks = self._read(
                        open_target, target, question, found, watch, deadline
                    )
                    if chunks is not None:
                        self.targets.keep(key, fresh)
                        more = enough(question, wanted, found, chunks)
                        if more == wanted or not rounds_left:
                            found, chunks = best_live(found, chunks, candidates)
                            answer = self._ranked(fresh, question, found, chunks, watch)
                            return replace(answer, target_was_kept=known is not None)
                        wanted = more
                    target = fresh
            raise SearchUnavailableError("the index was switched again and again", retry_after_s=1)

    def _evicted(
        self,
        key: Hashable,
        target: Target,
        strategy: Strategy | None,
        query: str,
        watch: Stopwatch,
        deadline: Deadline,
    ) -> Answer:
        self.targets.keep(key, None)
        self.use_index(target.index, deadline)
        nothing = Found(degraded=["index_evicted"])
        return _answer(target, strategy or target.search.strategy, query, nothing, watch)

    def _open(self, open_target: Open, watch: Stopwatch, deadline: Deadline) -> Target:
        with watch.timing("open"), self.store.transaction(None, deadline) as work:
            return open_target(work)

    def _read(
        self,
        open_target: Open,
        target: Target,
        question: Question,
        found: Found,
        watch: Stopwatch,
        deadline: Deadline,
    ) -> tuple[Target, dict[str, HydratedChunk] | None]:
        """Returns the target as it is now, and no chunks when it has to be asked anew."""
        project_id = target.index.project_id
        with watch.timing("read"), self.store.transaction(project_id, deadline) as work:
            fresh = open_target(work)
            if _asked(fresh) != _asked(target):
                return fresh, None
            return fresh, read_candidates(work.chunks, fresh, question, found)

    def _ranked(
        self,
        target: Target,
        question: Question,
        found: Found,
        chunks: Mapping[str, HydratedChunk],
        watch: Stopwatch,
    ) -> Answer:
        target = replace(target, search=shared_by(target.search, found.legs))
        with watch.timing("rank"):
            hits = rank(target, question, found, chunks)
        answer = _answer(target, question.strategy, question.text, found, watch)
        return replace(answer, hits=hits, ranked=len(hits), gone=len(found.ids) - len(chunks))


def _asked(target: Target) -> tuple[int, Reach, Strategy]:
    """What the legs were asked with: another generation, scope or strategy has other candidates."""
    return target.index.generation_id, target.reach, target.search.strategy


def _answer(
    target: Target, strategy: Strategy, query: str, found: Found, watch: Stopwatch
) -> Answer:
    watch.seconds.update(found.seconds)
    is_whole = target.status in ("ready", "rebuilding", "evicted")
    partial: list[Degradation] = [] if is_whole else ["partial_index"]
    return Answer(
        query=query,
        hits=[],
        mode_requested=strategy,
        mode_used=_mode(found, strategy),
        found=found,
        degraded=[*found.degraded, *partial],
        index_status=target.status,
        seconds=watch.seconds,
        search=target.search,
    )


def _mode(found: Found, requested: Strategy) -> Strategy:
    legs = set(found.legs)
    if legs == {"vector", "keyword"}:
        return "hybrid"
    return "semantic" if "vector" in legs else "keyword" if legs else requested
