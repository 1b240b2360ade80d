"""The use cases of a process, over its adapters."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

from context_search.adapters.postgres.url import DatabaseUrl
from context_search.adapters.secrets import with_secrets
from context_search.bootstrap.access import Access
from context_search.domain.query_hash import query_hash
from context_search.settings import Settings, environment

if TYPE_CHECKING:
    from context_search.domain.config import IndexConfig
    from context_search.services.searching.retrieval_settings import ManageRetrievalSettings
    from context_search.services.searching.search import Searcher
    from context_search.web.observed import ObservedSearch
    from context_search.web.routes.catalog.tables import TableUseCases
    from context_search.web.routes.catalog.tools import ToolUseCases
    from context_search.web.routes.searching.project_search import ProjectSearchUseCases
    from context_search.web.routes.searching.retrieve import RetrieveUseCases
    from context_search.web.routes.searching.search import SearchUseCases
    from context_search.web.routes.upkeep.rebuilds import OperationUseCases

QUESTIONS_AT_ONCE = 16
"""For each model: one that hangs holds up its own."""


class Parts(Access):
    """Everything a function can be asked to do."""

    def check_ready(self) -> None:
        """Raises DatabaseUnavailableError when Postgres does not answer."""
        with self.store.transaction():
            pass

    @cached_property
    def tables(self) -> TableUseCases:
        """The use cases of projects and tables."""
        from context_search.services.catalog import tables  # noqa: PLC0415
        from context_search.services.catalog.change_document import ChangeDocument  # noqa: PLC0415
        from context_search.web.routes.catalog.tables import TableUseCases  # noqa: PLC0415

        return TableUseCases(
            create_project=tables.CreateProject(self.store),
            create_table=tables.CreateTable(self.store),
            read_table=tables.ReadTable(self.store),
            change_document=ChangeDocument(self.store),
            delete_table=tables.DeleteTable(self.store),
        )

    @cached_property
    def tools(self) -> ToolUseCases:
        """The use cases of Search Tools."""
        from context_search.services.catalog.create_search_tool import CreateSearchTool  # noqa: PLC0415
        from context_search.services.catalog.tables import DeleteTool  # noqa: PLC0415
        from context_search.services.indexing.status import ReadStatus  # noqa: PLC0415
        from context_search.services.indexing.wait import WaitUntilSettled  # noqa: PLC0415
        from context_search.web.routes.catalog.tools import ToolUseCases  # noqa: PLC0415

        silent_s = self.settings.silent_after_s
        read_status = ReadStatus(self.store, silent_s)
        return ToolUseCases(
            create_search_tool=CreateSearchTool(self.store, self.limits, silent_s),
            read_status=read_status,
            wait_until_settled=WaitUntilSettled(read_status, self.clock, time.sleep),
            delete_tool=DeleteTool(self.store),
            model=self.model,
        )

    @cached_property
    def operations(self) -> OperationUseCases:
        """The use cases of operators."""
        from context_search.services.indexing import rebuild  # noqa: PLC0415
        from context_search.services.indexing.estimate_rebuild import EstimateRebuild  # noqa: PLC0415
        from context_search.services.upkeep.clear_index import ClearIndex  # noqa: PLC0415
        from context_search.services.upkeep.integrity import ReadIntegrity  # noqa: PLC0415
        from context_search.services.upkeep.redrive import Redrive  # noqa: PLC0415
        from context_search.web.routes.upkeep.rebuilds import OperationUseCases  # noqa: PLC0415

        model = self.model
        start = rebuild.StartRebuild(self.store, model)
        return OperationUseCases(
            estimate_rebuild=EstimateRebuild(self.store, model),
            start_rebuild=start,
            reindex_project=rebuild.ReindexProject(self.store, start),
            roll_back=rebuild.RollBack(self.store),
            read_integrity=ReadIntegrity(self.store),
            redrive=Redrive(self.store, self.queue),
            clear_index=ClearIndex(self.store, self.settings.silent_after_s),
        )

    @cached_property
    def searcher(self) -> Searcher:
        """What every kind of search goes through."""
        from context_search.adapters.bounded_embedder import BoundedEmbedder  # noqa: PLC0415
        from context_search.services.indexing.evict import UseIndex  # noqa: PLC0415
        from context_search.services.searching.search import searcher  # noqa: PLC0415

        @cache
        def threads_of(model: str) -> ThreadPoolExecutor:
            return ThreadPoolExecutor(QUESTIONS_AT_ONCE, f"embed {model}")

        def embedder_of(config: IndexConfig) -> BoundedEmbedder:
            return BoundedEmbedder(self.embedder_of(config), threads_of(config.model))

        return searcher(
            self.store,
            self.vectors,
            embedder_of,
            UseIndex(self.store),
            self.clock,
            time.sleep,
            self.settings.silent_after_s,
        )

    def hash_of(self, query: str) -> str:
        """What logs say instead of a question."""
        return query_hash(self.fresh_settings.query_hash_key, query)

    def observed(self, kind: str) -> ObservedSearch:
        """The searches of one kind, as logs and metrics name it."""
        from context_search.web.observed import ObservedSearch, SearchLog  # noqa: PLC0415

        return ObservedSearch(self.searcher, SearchLog(kind, self.hash_of))

    @cached_property
    def search(self) -> SearchUseCases:
        """The use cases of search and MCP."""
        from context_search.services.catalog.list_tools import ListTools  # noqa: PLC0415
        from context_search.web.routes.searching.search import SearchUseCases  # noqa: PLC0415

        return SearchUseCases(
            authenticate=self.authenticate,
            authenticate_key=self.authenticate_key,
            search=self.observed("tool"),
            explain=self.observed("explain"),
            list_tools=ListTools(self.store),
            allowed_origins=self.settings.allowed_origins,
            allowed_hosts=self.settings.allowed_hosts,
        )

    @cached_property
    def project_search(self) -> ProjectSearchUseCases:
        """The use cases of project search."""
        from context_search.services.searching.search_project import SearchProject  # noqa: PLC0415
        from context_search.web.observed import SearchLog  # noqa: PLC0415
        from context_search.web.routes.searching.project_search import ProjectSearchUseCases  # noqa: PLC0415

        search = SearchProject(self.searcher, self.store, self.settings.silent_after_s)
        return ProjectSearchUseCases(search, SearchLog("project", self.hash_of))

    @cached_property
    def retrieve(self) -> RetrieveUseCases:
        """The use cases of retrieval."""
        from context_search.adapters.tiktoken_counter import TiktokenCounter  # noqa: PLC0415
        from context_search.domain.config import SearchConfig  # noqa: PLC0415
        from context_search.services.searching.retrieve import Retrieve  # noqa: PLC0415
        from context_search.web.routes.searching.retrieve import RetrieveUseCases  # noqa: PLC0415

        counter = TiktokenCounter()
        return RetrieveUseCases(
            from_tool=Retrieve(self.store, self.observed("retrieve"), counter),
            from_project=Retrieve(
                self.store, self.observed("retrieve_project"), counter, SearchConfig().top_k
            ),
        )

    @cached_property
    def retrieval_settings(self) -> ManageRetrievalSettings:
        """The settings of a project's retrieval."""
        from context_search.services.searching.retrieval_settings import ManageRetrievalSettings  # noqa: PLC0415

        return ManageRetrievalSettings(self.store)


@lru_cache(maxsize=1)
def parts() -> Parts:
    """Returns the parts of this process, made from its environment."""
    return Parts(_settings(), _settings)


def _settings() -> Settings:
    """Returns the settings as they are now. Raises ContextSearchError for unusable ones."""
    settings = Settings.from_environ(with_secrets(environment()))
    DatabaseUrl.parse(settings.database_url)  # rather here than when a connection is needed
    return settings
