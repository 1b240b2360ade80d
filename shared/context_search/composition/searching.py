"""What is searched over HTTP and MCP."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from context_search.composition.access import AccessParts
from context_search.core.billed import OnBilled
from context_search.core.config import IndexConfig
from context_search.core.errors import RerankUnavailableError
from context_search.integrations.ports import Embedder, Reranker, VectorStore
from context_search.live_settings import LiveSettings
from context_search.store import Store

if TYPE_CHECKING:
    from context_search.agents.routes.mcp import AgentUseCases
    from context_search.agents.tools.toolboxes import FurtherTools
    from context_search.catalog.project_settings import ManageSettings
    from context_search.core.model import HydratedChunk
    from context_search.ranking.search import Target
    from context_search.searching.redact_hits import RedactHits
    from context_search.searching.routes.observed import ObservedSearch
    from context_search.searching.routes.project_search import ProjectSearchUseCases
    from context_search.searching.routes.retrieve import RetrieveUseCases
    from context_search.searching.routes.search import SearchUseCases
    from context_search.searching.rules.retrieval import RetrievalSettings
    from context_search.searching.search import Searcher

QUESTIONS_AT_ONCE = 16
"""Maximum number of questions that a model is asked at once: one that hangs delays only its own."""


@dataclass(frozen=True)
class SearchingParts:
    """The use cases of ``searching``, each made on first use.

    ``vectors`` and ``further_tools`` are made when they are asked for. ``hash_of`` is what logs
    say instead of a question.
    """

    store: Store
    live: LiveSettings
    access: AccessParts
    vectors: Callable[[], VectorStore]
    embedder_of: Callable[[IndexConfig], Embedder]
    on_billed: OnBilled
    hash_of: Callable[[str], str]
    further_tools: Callable[[], FurtherTools]

    @cached_property
    def searcher(self) -> Searcher:
        """What every kind of search goes through."""
        from context_search.indexing.use_index import IndexUse  # noqa: PLC0415
        from context_search.integrations.models.bounded_models import BoundedEmbedder  # noqa: PLC0415
        from context_search.searching.search import searcher  # noqa: PLC0415

        @cache
        def threads_of(model: str) -> ThreadPoolExecutor:
            return ThreadPoolExecutor(QUESTIONS_AT_ONCE, f"embed {model}")

        def embedder_of(config: IndexConfig) -> BoundedEmbedder:
            return BoundedEmbedder(self.embedder_of(config), threads_of(config.model))

        made = searcher(
            self.store,
            self.vectors(),
            embedder_of,
            IndexUse(self.store),
            self.live.clock,
            time.sleep,
            self.live.settings.silent_after_s,
            cache(self._reranker_of),
        )
        timeouts = replace(made.timeouts, rerank_s=self.live.settings.rerank_timeout_ms / 1_000)
        spending = replace(made.rerank_hits.spending, limits=self.live.settings.daily_limits)
        rerank_hits = replace(made.rerank_hits, spending=spending)
        return replace(made, timeouts=timeouts, rerank_hits=rerank_hits)

    def _reranker_of(self, model: str) -> Reranker:
        """The reranking model that a tool names. A row may name one that is not ours (any more).

        Raises RerankUnavailableError: nobody but the deployment decides who sees texts.
        """
        from context_search.composition.models import reranker  # noqa: PLC0415
        from context_search.integrations.models.bounded_models import BoundedReranker  # noqa: PLC0415

        if model not in self.live.settings.rerank_models:
            raise RerankUnavailableError("this deployment has no such reranking model")
        asked = reranker(model, self.live, self.on_billed)
        return BoundedReranker(asked, ThreadPoolExecutor(QUESTIONS_AT_ONCE, f"rerank {model}"))

    def observed(self, kind: str) -> ObservedSearch:
        """The searches of one kind, as logs and metrics name it."""
        from context_search.searching.routes.observed import ObservedSearch, SearchLog  # noqa: PLC0415

        return ObservedSearch(self.searcher, SearchLog(kind, self.hash_of))

    @cached_property
    def search(self) -> SearchUseCases:
        """The use cases of search."""
        from context_search.searching.routes.search import SearchUseCases  # noqa: PLC0415

        return SearchUseCases(
            search=self._of_tools, explain=self.observed("explain"), titles=self._titles
        )

    @cached_property
    def agents(self) -> AgentUseCases:
        """The use cases of MCP."""
        from context_search.agents.list_tools import ListTools  # noqa: PLC0415
        from context_search.agents.routes.mcp import AgentUseCases  # noqa: PLC0415

        return AgentUseCases(
            bearers=self.access.bearers,
            keys=self.access.known_keys,
            search=self._of_tools,
            list_tools=ListTools(self.store),
            mcps=self.access.mcps,
            further=self.further_tools,
            redaction=self.redaction,
            allowed_origins=self.live.settings.allowed_origins,
            allowed_hosts=self.live.settings.allowed_hosts,
        )

    @cached_property
    def _of_tools(self) -> ObservedSearch:
        return self.observed("tool")

    def redaction(self) -> RedactHits:
        """What hides keys and personal data from agents."""
        from context_search.searching.redact_hits import RedactHits  # noqa: PLC0415

        return RedactHits(self.store)

    def _titles(self, target: Target, chunks: Sequence[HydratedChunk]) -> Mapping[int, str]:
        from context_search.searching.titles import titles_of  # noqa: PLC0415

        return titles_of(self.store, self.live.clock, target, chunks)

    @cached_property
    def project_search(self) -> ProjectSearchUseCases:
        """The use cases of project search."""
        from context_search.searching.routes.observed import SearchLog  # noqa: PLC0415
        from context_search.searching.routes.project_search import ProjectSearchUseCases  # noqa: PLC0415
        from context_search.searching.search_project import SearchProject  # noqa: PLC0415

        search = SearchProject(self.searcher, self.store, self.live.settings.silent_after_s)
        return ProjectSearchUseCases(search, SearchLog("project", self.hash_of))

    @cached_property
    def retrieve(self) -> RetrieveUseCases:
        """The use cases of retrieval."""
        from context_search.core.config import SearchConfig  # noqa: PLC0415
        from context_search.integrations.models.tiktoken_counter import TiktokenCounter  # noqa: PLC0415
        from context_search.searching.retrieve import Retrieve  # noqa: PLC0415
        from context_search.searching.routes.retrieve import RetrieveUseCases  # noqa: PLC0415

        counter = TiktokenCounter()
        return RetrieveUseCases(
            from_tool=Retrieve(self.store, self.observed("retrieve"), counter),
            from_project=Retrieve(
                self.store, self.observed("retrieve_project"), counter, SearchConfig().top_k
            ),
        )

    @cached_property
    def retrieval_settings(self) -> ManageSettings[RetrievalSettings]:
        """The settings of a project's retrieval."""
        from context_search.catalog.project_settings import ManageSettings  # noqa: PLC0415
        from context_search.searching.rules.retrieval import RetrievalSettings  # noqa: PLC0415

        return ManageSettings(self.store, RetrievalSettings)
