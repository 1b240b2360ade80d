"""Asks a reranking model for a second opinion on the first hits, and mixes it into the ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from context_search.ranking.fusion import max_normalised, min_max
from context_search.ranking.rank import Ranking
from context_search.ranking.search import Degradation, Hit, LegResults, Target
from context_search.searching.breaker import BreakerOpenError, Breakers
from context_search.searching.search_time import SearchTime

USUAL_CHARS = 50_000
"""A call with more text may be late with a model that is well, and everybody shares its breaker."""


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


def blended(
    hits: Sequence[Hit], opinions: Mapping[int, float], blend: float, *, is_by_rank: bool
) -> list[Hit]:
    """Returns all hits with the score ``(1 - blend) * score + blend * opinion``, best first.

    ``opinions`` are the model's scores by place among ``hits``, in any range: they are moved to
    0..1. Who has none counts 0, as the worst that has one: so no hit that the model was not asked
    about gets before one that it was. Equal scores stay in their order. ``is_by_rank``: scores are
    those of rank fusion, which are no shares of anything; then they count as shares of the best.
    """
    names = [hit.chunk.turbopuffer_doc_id for hit in hits]
    ours = {name: hit.score for name, hit in zip(names, hits, strict=True)}
    if is_by_rank:
        ours = max_normalised(ours)
    theirs = {names[place]: opinion for place, opinion in opinions.items()}
    shares = min_max(theirs)
    changed = [
        _with(hit, theirs.get(name), (1 - blend) * ours[name], blend * shares.get(name, 0.0))
        for name, hit in zip(names, hits, strict=True)
    ]
    return sorted(changed, key=lambda hit: -hit.score)


def _with(hit: Hit, opinion: float | None, own: float, added: float) -> Hit:
    """Each part of the score that a hit had counts as much less as that score does."""
    why = hit.evidence
    if why is not None:
        share = own / hit.score if hit.score else 0.0
        parts = {name: share * part for name, part in why.parts.items()}
        if added:
            parts["reranker"] = added
        why = replace(why, parts=parts, reranker=opinion)
    return replace(hit, score=own + added, evidence=why)
