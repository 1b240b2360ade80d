"""Asks a reranking model for a second opinion on the first hits of a ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from context_search.budgets.spending import Spending
from context_search.core.config import Rerank
from context_search.core.errors import (
    DatabaseUnavailableError,
    RerankError,
    RerankLimitError,
    RerankTimeoutError,
    RerankUnavailableError,
)
from context_search.core.model import Index
from context_search.integrations.ports import Deadline, Reranker
from context_search.ranking.blending import blended
from context_search.ranking.rank import Ranking
from context_search.ranking.search import Degradation, LegResults, Target
from context_search.searching.breaker import BreakerOpenError, Breakers
from context_search.searching.timeouts import SearchTime

USUAL_CHARS = 50_000
"""A call with more text may be late with a model that is well, and everybody shares its breaker."""


def no_reranker(_model: str) -> Reranker:
    """Raises RerankUnavailableError: a deployment without a reranking model."""
    raise RerankUnavailableError("this deployment has no such reranking model")


@dataclass(frozen=True, slots=True)
class RerankHits:
    """Orders hits anew; without an opinion their order stays, and the answer says why.

    ``reranker_of`` takes litellm's name of a model, and raises RerankUnavailableError for one that
    the deployment does not have (any more).
    """

    reranker_of: Callable[[str], Reranker]
    breakers: Breakers
    spending: Spending

    def rerank(self, target: Target, query: str, ranking: Ranking, time: SearchTime) -> Ranking:
        """Returns the ranking as the target wants it; one hit has no order to ask about."""
        wanted = target.search.rerank
        if wanted is None:
            return ranking
        texts = [hit.chunk.chunk_text for hit in ranking.hits[: wanted.candidates]]
        if len(texts) < 2:
            return ranking
        try:
            with time.stage("rerank"):
                opinions = self._opinions(target.index, wanted, query, texts, time)
        except RerankTimeoutError as error:
            return replace(ranking, found=_noted(ranking.found, "rerank_timeout", error))
        except RerankLimitError as error:
            return replace(ranking, found=_noted(ranking.found, "rerank_limit", error))
        except RerankError as error:
            return replace(ranking, found=_noted(ranking.found, "rerank_unavailable", error))
        is_by_rank = target.search.fusion == "rrf"
        return replace(
            ranking, hits=blended(ranking.hits, opinions, wanted.blend, is_by_rank=is_by_rank)
        )

    def _opinions(
        self, index: Index, wanted: Rerank, query: str, texts: list[str], time: SearchTime
    ) -> dict[int, float]:
        timeout_s = time.for_rerank()
        if timeout_s <= 0:  # before the breaker: it says nothing about the model
            raise RerankTimeoutError("no time is left for a second opinion")
        reranker = self.reranker_of(wanted.model)
        refusal = "the reranking model failed several times in a row"
        is_usual = sum(map(len, texts)) <= USUAL_CHARS
        guarding = self.breakers.of(wanted.model).guarding
        with guarding(RerankUnavailableError, refusal, is_usual=is_usual):
            self._note(index, Deadline(time.clock, time.clock.monotonic() + timeout_s))
            return reranker.scores(query, texts, timeout_s=timeout_s)

    def _note(self, index: Index, deadline: Deadline) -> None:
        try:
            self.spending.rerank(index.project_id, index.id, deadline)
        except DatabaseUnavailableError:
            message = "Postgres did not say in time what the project has spent"
            raise RerankUnavailableError(message) from None


def _noted(found: LegResults, degradation: Degradation, error: RerankError) -> LegResults:
    refusals = found.breaker_refusals + isinstance(error.__cause__, BreakerOpenError)
    return replace(
        found,
        degraded=[*found.degraded, degradation],
        errors=[*found.errors, error.code],
        breaker_refusals=refusals,
    )
