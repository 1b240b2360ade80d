"""Searches, and the models that they ask in threads.

Their transactions send no messages, so none delivers any, but those of ``IndexUse``.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property, partial

from context_search.composition.models import reranker
from context_search.composition.parts import Parts
from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.errors import RerankUnavailableError
from context_search.indexing.use_index import IndexUse
from context_search.integrations.models.bounded_models import BoundedEmbedder, BoundedReranker
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.searching.retrieve import RedactHits, Retrieve
from context_search.searching.routes.observed import ObservedSearch, SearchLog
from context_search.searching.routes.project_search import ProjectSearchUseCases
from context_search.searching.routes.retrieve import RetrieveUseCases
from context_search.searching.routes.search import SearchUseCases
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search import Searcher, SearchLimits, searcher
from context_search.searching.search_project import SearchProject
from context_search.searching.titles import titles_of

QUESTIONS_AT_ONCE = 16
"""Maximum number of questions that a model is asked at once: one that hangs delays only its own."""


@dataclass(frozen=True)
class Searching:
    """The use cases of searching."""

    parts: Parts

    @cached_property
    def searcher(self) -> Searcher:
        """What every kind of search goes through."""
        parts, settings, models = self.parts, self.parts.settings, BoundedModels(self.parts)
        return searcher(
            parts.postgres,
            parts.vectors,
            models.embedder_of,
            cache(models.reranker_of),
            IndexUse(parts.store),
            parts.clock,
            time.sleep,
            SearchLimits(
                settings.silent_after_s,
                Timeouts(rerank_s=settings.rerank_timeout_ms / 1_000),
                settings.daily_limits,
            ),
        )

    def _observed(self, kind: str) -> ObservedSearch:
        """The searches of one kind, as logs and metrics name it."""
        return ObservedSearch(self.searcher, SearchLog(kind, self.parts.hash_of))

    @cached_property
    def of_tools(self) -> ObservedSearch:
        """Searches of Search Tools, over HTTP and MCP."""
        return self._observed("tool")

    @cached_property
    def search(self) -> SearchUseCases:
        """The use cases of search."""
        titles = partial(titles_of, self.parts.postgres, self.parts.clock)
        return SearchUseCases(self.of_tools, self._observed("explain"), titles)

    @cached_property
    def project_search(self) -> ProjectSearchUseCases:
        """The use cases of project search."""
        silent_s = self.parts.settings.silent_after_s
        search = SearchProject(self.searcher, self.parts.postgres, silent_s)
        return ProjectSearchUseCases(search, SearchLog("project", self.parts.hash_of))

    @cached_property
    def retrieve(self) -> RetrieveUseCases:
        """The use cases of retrieval."""
        store, counter, most = self.parts.postgres, TiktokenCounter(), SearchConfig().top_k
        return RetrieveUseCases(
            from_tool=Retrieve(store, self._observed("retrieve"), counter),
            from_project=Retrieve(store, self._observed("retrieve_project"), counter, most),
        )

    @cached_property
    def redaction(self) -> RedactHits:
        """What hides keys and personal data from agents."""
        return RedactHits(self.parts.postgres)


class BoundedModels:
    """Models, each asked in threads of its own."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._threads = cache(partial(ThreadPoolExecutor, QUESTIONS_AT_ONCE))

    def embedder_of(self, config: IndexConfig) -> BoundedEmbedder:
        """The embedding model of an index."""
        threads = self._threads(f"embed {config.model}")
        return BoundedEmbedder(self._parts.embedder_of(config), threads)

    def reranker_of(self, model: str) -> BoundedReranker:
        """The reranking model that a tool names. A row may name one that is not ours (any more).

        Raises RerankUnavailableError: nobody but the deployment decides who sees texts.
        """
        if model not in self._parts.settings.rerank_models:
            raise RerankUnavailableError("this deployment has no such reranking model")
        asked = reranker(model, self._parts, self._parts.meter.add)
        return BoundedReranker(asked, self._threads(f"rerank {model}"))
