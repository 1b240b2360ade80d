"""Asks the legs of a search, and goes another way when a part fails: never silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from context_search.core.errors import (
    ContextSearchError,
    DatabaseUnavailableError,
    EmbeddingError,
    EmbeddingTimeoutError,
    KeywordTimeoutError,
    NamespaceMissingError,
    SearchTimeoutError,
    SearchUnavailableError,
    VectorStoreError,
    VectorStoreTimeoutError,
    VectorStoreUnavailableError,
)
from context_search.core.ids import scope_key
from context_search.integrations.ports import (
    MAX_QUERY_BYTES,
    Legs,
    Ranked,
    VectorQuery,
    VectorStore,
)
from context_search.ranking.search import Degradation, LegName, LegResults, Question, Target
from context_search.searching.admission import Admission, SearchLease
from context_search.searching.breaker import Breaker, BreakerOpenError
from context_search.searching.embed_question import EmbedQuestion
from context_search.searching.search_time import SearchTime
from context_search.store import Store, UnitOfWork

_LATE = {EmbeddingTimeoutError.code, VectorStoreTimeoutError.code, KeywordTimeoutError.code}
MOST_NAMED = 1_000
"""Maximum number of strings that a query of turbopuffer names one by one."""


class _BusyError(VectorStoreUnavailableError):
    """No permit for the namespace got free in time."""


@dataclass
class _SoFar:
    """What was found and what went wrong so far, the time that is left, and what is held."""

    time: SearchTime
    held: SearchLease
    legs: Legs = field(default_factory=Legs)
    degraded: list[Degradation] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    breaker_refusals: int = 0
    keywords: list[Ranked] | None = None
    is_kept: bool = False
    words_left_out: int = 0

    def note(self, degradation: Degradation, error: ContextSearchError) -> None:
        """Remembers a failure."""
        self.degraded.append(degradation)
        self.errors.append(error.code)
        self.breaker_refusals += isinstance(error.__cause__, BreakerOpenError)

    def found(self) -> LegResults:
        """What the ranking gets."""
        keyword = self.legs.keyword if self.keywords is None else self.keywords
        legs: dict[LegName, Sequence[Ranked] | None] = {
            "vector": self.legs.vector,
            "keyword": keyword,
        }
        source = None if keyword is None else "turbopuffer" if self.keywords is None else "postgres"
        return LegResults(
            vector=_scores(self.legs.vector),
            keyword=_scores(keyword),
            legs=[name for name, leg in legs.items() if leg is not None],
            keywords_from=source,  # type: ignore[arg-type]
            degraded=self.degraded,
            errors=self.errors,
            breaker_refusals=self.breaker_refusals,
            vector_was_kept=self.is_kept,
            is_cut=self.legs.is_cut,
            words_left_out=self.words_left_out,
        )


@dataclass(frozen=True, slots=True)
class FindCandidates:
    """Vector and keyword legs from turbopuffer, keywords from Postgres where that cannot serve.

    Without a vector (the model is slow or down) keywords answer; without turbopuffer Postgres'
    keywords do, also for a semantic search; lean storage has its keywords in Postgres anyway.
    """

    store: Store
    vectors: VectorStore
    embed: EmbedQuestion
    admission: Admission
    breaker: Breaker

    def find(
        self, target: Target, question: Question, time: SearchTime, held: SearchLease
    ) -> LegResults:
        """Raises SearchUnavailableError (retryable) when no leg could be asked.

        Where one of them was too slow, that is SearchTimeoutError.
        """
        so_far = _SoFar(time, held)
        keys = self._keys(target, time)
        if keys == ():  # no string that the filter lets through: nothing to rank
            return so_far.found()
        vector = self._vector(so_far, target, question)
        wants_keywords = question.strategy != "semantic" or vector is None
        stored = target.index.config.storage == "full"
        tokens = question.words if wants_keywords and stored and question.words else None
        query = VectorQuery(
            scope_key=scope_key(target.reach.json_pointer),
            vector=vector,
            tokens=None if tokens is None else _weightiest(tokens),
            limit=question.candidates,
            table_ids=target.reach.table_ids,
            keys=keys,
            windows=target.index.config.most_windows,
        )
        reached = self._ask_turbopuffer(so_far, target, query)
        left_out = len(question.words) - len(query.tokens or question.words)
        if left_out and so_far.legs.keyword is not None:
            so_far.degraded.append("query_cut")
            so_far.words_left_out = left_out
        if not reached or (wants_keywords and not stored):
            self._ask_postgres(so_far, target, question)
        found = so_far.found()
        # An index whose namespace is lost is being written again: its answer is empty, no error.
        is_dead = so_far.degraded and (question.words or "namespace_missing" not in so_far.degraded)
        if not found.legs and is_dead:
            if _LATE.isdisjoint(found.errors):
                raise SearchUnavailableError("no part of the search could answer")
            raise SearchTimeoutError("no part of the search could answer in time")
        return found

    def _vector(self, so_far: _SoFar, target: Target, question: Question) -> list[float] | None:
        if question.strategy == "keyword":
            return None
        try:
            with so_far.time.stage("embed"):
                timeout_s = so_far.time.for_outside(so_far.time.timeouts.embed_s)
                index, text = target.index, question.text
                vector, so_far.is_kept = self.embed.embed(
                    index.project_id, index.config, text, timeout_s=timeout_s
                )
                return vector
        except EmbeddingTimeoutError as error:
            so_far.note("embed_timeout", error)
        except EmbeddingError as error:
            so_far.note("embed_unavailable", error)
        return None

    def _keys(self, target: Target, time: SearchTime) -> tuple[str, ...] | None:
        """Returns the keys of the strings that a filter lets through; None: without a filter, too
        many, or not found in time. Then there are more candidates to read.
        """
        if target.reach.filter is None:
            return None
        reading = self.store.for_project(target.index.project_id, time.deadline)
        timeout_s = time.for_outside(time.timeouts.filter_s)
        try:
            with time.stage("filter"), reading as work:
                found = work.live_chunks.matching(
                    target.index, target.reach, most=MOST_NAMED, timeout_s=timeout_s
                )
        except DatabaseUnavailableError:
            return None
        return None if found is None else tuple(sorted({scope_key(each) for each in found}))

    def _ask_turbopuffer(self, so_far: _SoFar, target: Target, query: VectorQuery) -> bool:
        """Returns False when the question has to go elsewhere."""
        if query.vector is None and query.tokens is None:
            return True
        try:
            so_far.legs = self._query(so_far, target.index.generation.namespace, query)
        except NamespaceMissingError as error:
            if self._is_empty(target, so_far.time):
                return True  # nothing was indexed yet
            so_far.note("namespace_missing", error)
        except _BusyError as error:
            so_far.note("backend_busy", error)
        except VectorStoreTimeoutError as error:
            so_far.note("backend_timeout", error)
        except VectorStoreError as error:
            so_far.note("backend_unavailable", error)
        else:
            return True
        return False

    def _query(self, so_far: _SoFar, namespace: str, query: VectorQuery) -> Legs:
        time = so_far.time
        legs = (query.vector is not None) + (query.tokens is not None)
        wait_s = time.for_outside(time.timeouts.permits_s)
        with self.admission.queries_of(
            so_far.held, namespace, legs, timeout_s=wait_s, deadline=time.deadline
        ) as is_admitted:
            if not is_admitted:
                raise _BusyError("all queries that the namespace can take are under way")
            timeout_s = time.for_outside(time.timeouts.vectors_s)
            if not timeout_s:
                raise VectorStoreTimeoutError("no time is left for turbopuffer")
            # The breaker comes last, so that its single try is one.
            refusal = "turbopuffer failed several times in a row"
            guarding = self.breaker.guarding(VectorStoreUnavailableError, refusal)
            with guarding, time.stage("turbopuffer"):
                return self.vectors.query(namespace, query, timeout_s=timeout_s)

    def _is_empty(self, target: Target, time: SearchTime) -> bool:
        with self.store.for_project(target.index.project_id, time.deadline) as work:
            return work.live_chunks.is_empty(target.index)

    def _ask_postgres(self, so_far: _SoFar, target: Target, question: Question) -> None:
        if not question.words:
            return
        time, are_all = so_far.time, so_far.legs.vector is None
        opened = self.store.for_project(target.index.project_id, time.deadline)
        reading = self.admission.returning(so_far.held, opened, whole=False)
        try:
            with time.stage("postgres"), reading as work:
                is_behind = _lacks_words(work, target)
                so_far.keywords = work.keywords.best(
                    target.index,
                    target.reach,
                    question.words,
                    question.candidates,
                    timeout_s=time.for_keywords(are_all=are_all),
                )
                # What was swapped meanwhile lost its words, and the new ones come later.
                is_behind = is_behind or _lacks_words(work, target)
        except DatabaseUnavailableError as error:
            so_far.note("keywords_unavailable", error)
        else:
            so_far.degraded += ["partial_keywords"] if is_behind else []


def _lacks_words(work: UnitOfWork, target: Target) -> bool:
    # Lean storage has its words at once.
    return target.index.config.storage == "full" and work.chunks.lacks_words(target.index)


def _weightiest(words: Mapping[str, float]) -> dict[str, float]:
    """Returns the words that fit into one query of turbopuffer, in their order: all, as a rule.

    Those that say most are kept: the same that ``relevance`` gives most weight, so two neighbouring
    characters before one; of equal ones the first.
    """
    room, kept = MAX_QUERY_BYTES, set()
    for word in sorted(words, key=lambda word: words[word] * min(len(word), 4), reverse=True):
        room -= len(word.encode()) + 1  # should what stands between them count
        if room < 0:
            break
        kept.add(word)
    return {word: weight for word, weight in words.items() if word in kept}


def _scores(leg: Sequence[Ranked] | None) -> dict[str, float]:
    return dict(leg or ())
