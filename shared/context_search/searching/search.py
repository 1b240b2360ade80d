"""One search: what is searched, what the legs find, what of it is live, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from context_search.budgets.spending import Spending
from context_search.core.config import IndexConfig
from context_search.core.errors import (
    ContextSearchError,
    FilterInvalidError,
    QueryEmptyError,
    SearchUnavailableError,
)
from context_search.core.limits import DailyLimits
from context_search.core.model import HydratedChunk, Scope
from context_search.indexing.hints import empty_scope
from context_search.indexing.use_index import IndexUse
from context_search.integrations.ports import Clock, Deadline, Embedder, Reranker, VectorStore
from context_search.ranking.duplicates import collapsed
from context_search.ranking.rank import (
    FirstLook,
    first_look,
    needs_every_text,
    rank,
)
from context_search.ranking.search import (
    Degradation,
    Hint,
    Hit,
    LegResults,
    Question,
    QuestionLimits,
    SearchResult,
    Target,
    widened,
    widened_for_copies,
)
from context_search.searching.admission import Admission, SearchLease
from context_search.searching.breaker import Breaker, Breakers
from context_search.searching.embed_question import EmbedQuestion, QuestionVectors
from context_search.searching.find_candidates import FindCandidates
from context_search.searching.rerank_hits import RerankHits
from context_search.searching.rules.searched import Searched
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search_time import SearchTime
from context_search.searching.targets import Targets, opened_for, read_target, there
from context_search.store import Store
from context_search.text.analysis import has_searchable_character, query_weights

if TYPE_CHECKING:
    from context_search.searching.sql.live_chunks import LiveChunks

ROUNDS = 3
"""Maximum rounds of a search. It asks again if its index was switched or moved meanwhile, or if
most of what it found is not live any more.
"""


@dataclass(frozen=True, slots=True)
class Searcher:
    """What the searches of a process share: its parts, its memory and its circuit breakers.

    ``silent_s`` is how long an index may make no progress before its status says so.
    """

    store: Store
    candidates: FindCandidates
    admission: Admission
    use_index: IndexUse
    targets: Targets
    rerank_hits: RerankHits
    clock: Clock
    silent_s: float
    timeouts: Timeouts

    def search(self, searched: Searched, query: str, limits: QuestionLimits) -> SearchResult:
        """Returns the best hits, in the time of its limits, switches of the index included.

        An evicted index answers nothing, at once, and is built again. Raises QueryEmptyError,
        FilterInvalidError, NotFoundError, ProjectIndexOffError, BackpressureError and
        SearchUnavailableError.
        """
        if not has_searchable_character(query):
            raise QueryEmptyError(
                "the query has no letter and no number in it; emoji and signs are not searched for"
            )
        deadline = Deadline(self.clock, self.clock.monotonic() + limits.seconds)
        time = SearchTime(self.clock, deadline, self.timeouts)
        return Search(self, searched, query, limits, time).answer()


@dataclass(frozen=True, slots=True)
class Search:
    """One question on its way to an answer: target, ask, read, rank."""

    parts: Searcher
    searched: Searched
    query: str
    limits: QuestionLimits
    time: SearchTime

    def answer(self) -> SearchResult:
        """Returns what ``Searcher.search`` does."""
        with self.time.stage("total"):
            known = self._kept()
            target = known or self._open().narrowed(self.limits.filter)
            admission, project_id = self.parts.admission, target.index.project_id
            with admission.admitted(project_id, self.time.deadline) as held:
                answer = self._ranked(target, held)
        hint = None if answer.hits else self._hint(answer)
        return replace(
            answer, hits=self._shown(answer), hint=hint, target_was_kept=known is not None
        )

    def _shown(self, answer: SearchResult) -> Sequence[Hit]:
        if self.limits.is_whole:
            return answer.hits
        shown = self.limits.shown(answer.target.search)
        if not self.limits.collapse:
            return answer.hits[:shown]
        with self.time.stage("collapse"):
            return collapsed(answer.hits, shown)

    def _kept(self) -> Target | None:
        known = self.parts.targets.get(self.searched)
        with suppress(FilterInvalidError):  # callers may filter by more fields since
            return known and known.narrowed(self.limits.filter)
        return None

    def _open(self) -> Target:
        opened = opened_for(self.parts.store, self.searched, self.time.deadline)
        with self.time.stage("open"), opened as work:
            return read_target(work, self.searched, silent_s=self.parts.silent_s)

    def _ranked(self, target: Target, held: SearchLease) -> SearchResult:
        """Returns the answer with every hit that was ranked."""
        asked = places = self.limits.candidates
        for rounds_left in reversed(range(ROUNDS)):
            if target.status == "evicted":
                return self._evicted(target)
            self.parts.admission.admit(held, target.index.project_id, self.time.deadline)
            question = replace(self._question(target), candidates=places)
            found = self._ask(target, replace(question, candidates=asked), held)
            target, candidates = self._read(target, question, found, held)
            if candidates is None:
                continue
            chunks = candidates.chunks
            wider = widened(question, asked, found, chunks)
            if wider == self.limits.candidates and self.limits.collapse:
                wider = places = widened_for_copies(question, found, chunks)
            if wider == asked or not rounds_left:
                return self._rank(target, question, found, candidates)
            asked = wider
        raise SearchUnavailableError("the index was switched again and again", retry_after_s=1)

    def _question(self, target: Target) -> Question:
        return Question(
            text=self.query,
            words=query_weights(self.query),
            strategy=target.search.strategy,
            candidates=self.limits.candidates,
            asked_at=self.parts.clock.now(),
            wanted=self.limits.wanted or self.limits.shown(target.search),
        )

    def _ask(self, target: Target, question: Question, held: SearchLease) -> LegResults:
        found = self.parts.candidates.find(target, question, self.time, held)
        if "namespace_missing" in found.degraded:
            self.parts.use_index.lost(target.index, self.time.deadline)
        self.parts.use_index.note(target.index, self.time.deadline)
        return found

    def _read(
        self, target: Target, question: Question, found: LegResults, held: SearchLease
    ) -> tuple[Target, Candidates | None]:
        """Returns the target as it is now, and no candidates when it has to be asked anew.

        Everything goes to Postgres at once, with what the search gives back.
        """
        opened = self.parts.store.for_project(target.index.project_id, self.time.deadline)
        is_last = self._is_over_when_read(target)
        reading = self.parts.admission.returning(held, opened, whole=is_last)
        with self.time.stage("read"), reading as work:
            texts = needs_every_text(target.search, len(found.ids))
            now, chunks = work.live_chunks.read_search(
                self.searched,
                target,
                found.ids,
                work.node_counts,
                texts=texts,
                silent_s=self.parts.silent_s,
            )
            unnarrowed = there(self.searched, now)
            fresh = unnarrowed.narrowed(self.limits.filter)
            if fresh.asked != target.asked:
                return fresh, None
            self.parts.targets.keep(self.searched, unnarrowed)
            if texts:
                return fresh, Candidates(chunks)
            return fresh, with_texts(work.live_chunks, fresh, question, found, chunks)

    def _is_over_when_read(self, target: Target) -> bool:
        """Says whether the search has nothing left to do, as a rule, but to rank what it read."""
        asks_again = self.limits.collapse or target.reach.filter is not None
        return not asks_again and target.search.rerank is None

    def _rank(
        self, target: Target, question: Question, found: LegResults, read: Candidates
    ) -> SearchResult:
        with self.time.stage("rank"):
            most = self._looked_at(target)
            ranking = rank(target, question, found, read.chunks, most=most, look=read.look)
        reranked = self.parts.rerank_hits.rerank(target, self.query, ranking, self.time)
        answer = self._found(reranked.target, reranked.found)
        if target.reach.filter and found.is_cut and len(read.chunks) < question.wanted:
            answer = replace(answer, degraded=[*answer.degraded, "filter_incomplete"])
        return replace(
            answer,
            hits=reranked.hits,
            ranked=ranking.ranked,
            gone=reranked.gone,
            further=ranking.further,
        )

    def _looked_at(self, target: Target) -> int | None:
        """Returns how many hits are looked at before the others are left out; None: all."""
        if self.limits.is_whole or self.limits.collapse or target.search.rerank is not None:
            return None
        return self.limits.shown(target.search)

    def _evicted(self, target: Target) -> SearchResult:
        self.parts.targets.drop(self.searched)
        self.parts.use_index.note(target.index, self.time.deadline)
        return self._found(target, LegResults(degraded=["index_evicted"]))

    def _found(self, target: Target, found: LegResults) -> SearchResult:
        is_whole = target.status in ("ready", "rebuilding", "evicted")
        partial: list[Degradation] = [] if is_whole else ["partial_index"]
        return SearchResult(
            query=self.query,
            target=target,
            mode_requested=target.search.strategy,
            found=found,
            degraded=[*found.degraded, *partial],
            seconds=self.time.seconds,
        )

    def _hint(self, answer: SearchResult) -> Hint:
        hint, index = answer.hint_at(), answer.target.index
        if hint != "no_match" or index.table_id is None:
            return hint
        scope, empty = Scope(index.table_id, answer.target.reach.json_pointer), None
        # The question is answered: a hint that cannot be read does not fail it.
        with suppress(ContextSearchError), self.parts.store.for_project(index.project_id) as work:
            empty = empty_scope(work, scope, index, measured=False)
        return empty.hint if empty else hint


@dataclass(frozen=True, slots=True)
class Candidates:
    """The live candidates by document id, and the first look at them where reading took one."""

    chunks: dict[str, HydratedChunk]
    look: FirstLook | None = None


def with_texts(
    rows: LiveChunks,
    target: Target,
    question: Question,
    found: LegResults,
    chunks: dict[str, HydratedChunk],
) -> Candidates:
    """Returns the live candidates, of which ``chunks`` have no texts.

    Of a long linear ranking only those get a text that it looks at: the texts are most of what
    there is to read.
    """
    index, ids = target.index, found.ids
    if not needs_every_text(target.search, len(ids)):  # the tool may have changed meanwhile
        look = first_look(target, question, found, chunks)
        completed = rows.completed(index, [chunks[name] for name in look.looked_at])
        if len(completed) == len(look.looked_at):
            return Candidates(chunks | completed, look)
    # Or another version took their place: one statement sees one state.
    return Candidates(rows.hydrate(index, target.reach, ids))


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What a deployment says of all searches; ``daily`` is what a project may spend on them.

    ``silent_s`` is that of ``Searcher``.
    """

    silent_s: float
    timeouts: Timeouts
    daily: DailyLimits


def searcher(
    store: Store,
    vectors: VectorStore,
    embedder_of: Callable[[IndexConfig], Embedder],
    reranker_of: Callable[[str], Reranker],
    use_index: IndexUse,
    clock: Clock,
    sleep: Callable[[float], None],
    limits: SearchLimits,
) -> Searcher:
    """Returns what the searches of one process, or of a test, share."""
    admission = Admission(store, clock, sleep)
    embed = EmbedQuestion(embedder_of, QuestionVectors(clock), Breakers(clock))
    find = FindCandidates(store, vectors, embed, admission, Breaker(clock))
    rerank_hits = RerankHits(reranker_of, Breakers(clock), Spending(store, clock, limits.daily))
    targets = Targets(clock)
    return Searcher(
        store,
        find,
        admission,
        use_index,
        targets,
        rerank_hits,
        clock,
        limits.silent_s,
        limits.timeouts,
    )
