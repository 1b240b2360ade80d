"""What is spent on models for a project: noted before it is spent, and refused over a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from context_search.core.errors import (
    EmbeddingLimitError,
    RerankLimitError,
    SpendingCeilingError,
)
from context_search.core.limits import DailyLimits
from context_search.integrations.ports import Clock, Deadline
from context_search.store import Store, UnitOfWork
from context_search.text.chunking import estimated_tokens

NO_LIMITS = DailyLimits()


@dataclass(frozen=True, slots=True)
class Spending:
    """Who notes it; ``limits`` are those of every project."""

    store: Store
    clock: Clock
    limits: DailyLimits = NO_LIMITS

    def embed(self, index_id: int, texts: Sequence[str]) -> None:
        """Notes the tokens of texts. Raises EmbeddingLimitError until the next day begins."""
        tokens = sum(map(estimated_tokens, texts))
        with self.store.for_all("handle a message") as work:
            is_noted = work.ledger.spend(index_id, self.limits, tokens=tokens)
        if not is_noted:
            raise EmbeddingLimitError(
                f"the project may have {self.limits.embedding_tokens} tokens embedded in a day"
                " (UTC), and today's are spent: indexing goes on tomorrow",
                retry_after_s=seconds_left_of_day(self.clock.now()),
            )

    def rerank(self, project_id: int, index_id: int, deadline: Deadline) -> None:
        """Notes one request to a reranking model. Raises RerankLimitError."""
        with self.store.for_project(project_id, deadline) as work:
            is_noted = work.ledger.spend(index_id, self.limits, reranks=1)
        if not is_noted:
            raise RerankLimitError(
                f"the project may have {self.limits.reranks} requests to a reranking model in a"
                " day (UTC), and today's are spent"
            )


def check_ceiling(work: UnitOfWork, project_id: int, limits: DailyLimits) -> None:
    """Raises SpendingCeilingError where a project has spent today's tokens.

    For what a caller asks to have indexed. What changes in documents is indexed the next day.
    """
    left_s = work.ledger.spent_for_s(project_id, limits)
    if left_s is not None:
        raise SpendingCeilingError(
            f"the project may have {limits.embedding_tokens} tokens embedded in a day (UTC), and"
            " today's are spent: ask again tomorrow",
            retry_after_s=left_s,
        )


def seconds_left_of_day(now: datetime) -> float:
    """Returns how long the day goes on."""
    tomorrow = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (tomorrow - now).total_seconds()
