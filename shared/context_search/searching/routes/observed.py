"""A search that leaves its trace in logs and metrics: never a question, only its keyed hash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aws_lambda_powertools import Logger

from context_search.core.errors import ContextSearchError
from context_search.ranking.search import QuestionLimits, SearchResult
from context_search.searching.rules.searched import Searched
from context_search.searching.targets import Searches
from context_search.web.metrics import emit_search, emit_search_error
from context_search.web.request_body import request_id

_log = Logger(service="search", child=True)


@dataclass(frozen=True, slots=True)
class SearchLog:
    """Logs and counts searches of one ``kind``."""

    kind: str
    hash_of: Callable[[str], str]

    @contextmanager
    def counting_errors(self) -> Iterator[None]:
        """Counts an error of a search, and raises it on."""
        try:
            yield
        except ContextSearchError as error:
            emit_search_error(self.kind, error)
            raise

    def note(self, target_id: int, answer: SearchResult) -> None:
        """Logs and counts an answer; ``target_id`` is that of the tool or the project."""
        emit_search(self.kind, answer)
        _log.info(
            "searched",
            extra={
                "kind": self.kind,
                "request_id": request_id(),
                "target_id": target_id,
                "query_hash": self.hash_of(answer.query),
                "hits": len(answer.hits),
                "legs": list(answer.found.legs),
                "degraded": list(answer.degraded),
                "errors": list(answer.found.errors),
                "gone": answer.gone,
                "ms": {name: round(spent * 1000, 1) for name, spent in answer.seconds.items()},
            },
        )


@dataclass(frozen=True, slots=True)
class ObservedSearch:
    """Does what ``searches`` does, and notes it in ``log``."""

    searches: Searches
    log: SearchLog

    def search(self, searched: Searched, query: str, limits: QuestionLimits) -> SearchResult:
        """Returns the best hits; errors are counted and raised on."""
        with self.log.counting_errors():
            answer = self.searches.search(searched, query, limits)
        self.log.note(searched.id, answer)
        return answer
