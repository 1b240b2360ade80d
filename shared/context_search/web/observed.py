"""A search that leaves its trace in logs and metrics: never a question, only its keyed hash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aws_lambda_powertools import Logger

from context_search.domain.errors import ContextSearchError
from context_search.domain.model import Principal
from context_search.services.searching.answer import Answer
from context_search.web.border import request_id
from context_search.web.metrics import emit_search, emit_search_error

Search = Callable[[int, Principal | None, str, int | None], Answer]
"""Tool or project, caller, question, and how many hits (None: as configured)."""

_log = Logger(service="search", child=True)


@dataclass(frozen=True, slots=True)
class Observed:
    """Does what ``search`` does. ``kind`` names it in logs and metrics."""

    kind: str
    search: Search
    hash_of: Callable[[str], str]

    def __call__(
        self, target_id: int, principal: Principal | None, query: str, top_k: int | None
    ) -> Answer:
        """See ``search``; errors are counted and raised on."""
        try:
            answer = self.search(target_id, principal, query, top_k)
        except ContextSearchError as error:
            emit_search_error(self.kind, error)
            raise
        emit_search(self.kind, answer)
        _log.info(
            "searched",
            extra={
                "kind": self.kind,
                "request_id": request_id(),
                "target_id": target_id,
                "query_hash": self.hash_of(query),
                "hits": len(answer.hits),
                "legs": list(answer.found.legs),
                "degraded": list(answer.degraded),
                "errors": list(answer.found.errors),
                "gone": answer.gone,
                "ms": {name: round(spent * 1000, 1) for name, spent in answer.seconds.items()},
            },
        )
        return answer
