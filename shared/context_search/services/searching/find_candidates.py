"""Asks the legs of a search, and goes another way when a part fails: never silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from context_search.domain.errors import (
    ContextSearchError,
    DatabaseUnavailableError,
    EmbeddingError,
    EmbeddingTimeoutError,
    NamespaceMissingError,
    SearchUnavailableError,
    VectorStoreError,
    VectorStoreUnavailableError,
)
from context_search.domain.ids import scope_key
from context_search.ports.store import Store
from context_search.ports.time import Clock, Deadline
from context_search.ports.vectors import Legs, Ranked, VectorQuery, VectorStore
from context_search.services.searching.admission import Admission
from context_search.services.searching.answer import Degradation, Found, LegName, Question, Target
from context_search.services.searching.breaker import Breaker
from context_search.services.searching.embed_question import EmbedQuestion
from context_search.services.searching.patience import USUAL, Patience
from context_search.services.searching.stopwatch import Stopwatch


class _BusyError(VectorStoreUnavailableError):
    """No permit for the namespace got free in time."""


@dataclass
class _Search:
    """One run: when it must end, what was found and what went wrong so far."""

    watch: Stopwatch
    deadline: Deadline
    legs: Legs = field(default_factory=Legs)
    degraded: list[Degradation] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    keywords: list[Ranked] | None = None
    is_kept: bool = False

    def note(self, degradation: Degradation, error: ContextSearchError) -> None:
        """Remembers a failure."""
        self.degraded.append(degradation)
        self.errors.append(error.code)

    def found(self) -> Found:
        """What the ranking gets."""
        keyword = self.legs.keyword if self.keywords is None else self.keywords
        legs: dict[LegName, Sequence[Ranked] | None] = {
            "vector": self.legs.vector,
            "keyword": keyword,
        }
        source = None if keyword is None else "turbopuffer" if self.keywords is None else "postgres"
        return Found(
            vector=_scores(self.legs.vector),
            keyword=_scores(keyword),
            legs=[name for name, leg in legs.items() if leg is not None],
            keywords_from=source,  # type: ignore[arg-type]
            degraded=self.degraded,
            errors=self.errors,
            vector_was_kept=self.is_kept,
            is_cut=self.legs.is_cut,
            seconds=self.watch.seconds,
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
    clock: Clock
    patience: Patience = USUAL

    def __call__(self, target: Target, question: Question, deadline: Deadline) -> Found:
        """Raises SearchUnavailableError (retryable) when no leg could be asked in time."""
        search = _Search(Stopwatch(self.clock), deadline)
        vector = self._vector(search, target, question)
        wants_keywords = question.strategy != "semantic" or vector is None
        stored = target.index.config.storage == "full"
        tokens = question.words if wants_keywords and stored and question.words else None
        reached = self._ask_turbopuffer(search, target, question, vector, tokens)
        if not reached or (wants_keywords and not stored):
            self._ask_postgres(search, target, question)
        found = search.found()
        # An index whose namespace is lost is being written again: its answer is empty, no error.
        is_dead = search.degraded and (question.words or "namespace_missing" not in search.degraded)
        if not found.legs and is_dead:
            raise SearchUnavailableError("no part of the search could answer")
        return found

    def _vector(self, search: _Search, target: Target, question: Question) -> list[float] | None:
        if question.strategy == "keyword":
            return None
        try:
            with search.watch.timing("embed"):
                timeout_s = self.patience.for_outside(search.deadline, self.patience.embed_s)
                config, text = target.index.config, question.text
                vector, search.is_kept = self.embed(config, text, timeout_s=timeout_s)
                return vector
        except EmbeddingTimeoutError as error:
            search.note("embed_timeout", error)
        except EmbeddingError as error:
            search.note("embed_unavailable", error)
        return None

    def _ask_turbopuffer(
        self,
        search: _Search,
        target: Target,
        question: Question,
        vector: list[float] | None,
        tokens: Mapping[str, float] | None,
    ) -> bool:
        """Returns False when the question has to go elsewhere."""
        if vector is None and tokens is None:
            return True
        query = VectorQuery(
            scope_key=scope_key(target.reach.json_pointer),
            vector=vector,
            tokens=tokens,
            limit=question.candidates,
            table_ids=target.reach.table_ids,
        )
        try:
            search.legs = self._query(search, target.index.namespace, query)
        except NamespaceMissingError as error:
            if self._is_empty(target, search.deadline):
                return True  # nothing was indexed yet
            search.note("namespace_missing", error)
        except _BusyError as error:
            search.note("backend_busy", error)
        except VectorStoreError as error:
            search.note("backend_unavailable", error)
        else:
            return True
        return False

    def _query(self, search: _Search, namespace: str, query: VectorQuery) -> Legs:
        legs = (query.vector is not None) + (query.tokens is not None)
        wait_s = self.patience.for_outside(search.deadline, self.patience.permits_s)
        with self.admission.queries_of(
            namespace, legs, timeout_s=wait_s, deadline=search.deadline
        ) as is_admitted:
            if not is_admitted:
                raise _BusyError("all queries that the namespace can take are under way")
            timeout_s = self.patience.for_outside(search.deadline, self.patience.vectors_s)
            if not timeout_s:
                raise VectorStoreUnavailableError("no time is left for turbopuffer")
            if not self.breaker.lets_through():  # now, so that its single try is one
                raise VectorStoreUnavailableError("turbopuffer failed several times in a row")
            timing = search.watch.timing("turbopuffer")
            with self.breaker.counting(VectorStoreUnavailableError), timing:
                return self.vectors.query(namespace, query, timeout_s=timeout_s)

    def _is_empty(self, target: Target, deadline: Deadline) -> bool:
        with self.store.transaction(target.index.project_id, deadline) as work:
            return work.chunks.is_empty(target.index)

    def _ask_postgres(self, search: _Search, target: Target, question: Question) -> None:
        if not question.words:
            return
        reading = self.store.transaction(target.index.project_id, search.deadline)
        try:
            with search.watch.timing("postgres"), reading as work:
                search.keywords = work.keywords.best(
                    target.index,
                    target.reach,
                    question.words,
                    question.candidates,
                    timeout_s=self.patience.for_keywords(
                        search.deadline, are_all=search.legs.vector is None
                    ),
                )
        except DatabaseUnavailableError as error:
            search.note("keywords_unavailable", error)


def _scores(leg: Sequence[Ranked] | None) -> dict[str, float]:
    return {row.doc_id: row.score for row in leg or ()}
