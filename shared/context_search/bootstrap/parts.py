"""Everything that a function can be asked to do, each part made on first use."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.adapters.postgres.url import DatabaseUrl
from context_search.adapters.secrets import with_secrets
from context_search.bootstrap.live_settings import LiveSettings
from context_search.domain.config import IndexConfig
from context_search.domain.search import query_hash
from context_search.ports.outside import Deadline, Embedder, Message, Queue
from context_search.ports.store import Store
from context_search.services.access.authenticate import (
    Authenticate,
    AuthenticateBearer,
    AuthenticateInternal,
    AuthenticateToken,
)
from context_search.services.access.idempotency import AnswerOnce
from context_search.services.indexing.outgoing import Deliver, SendingStore
from context_search.settings import Settings, environment

if TYPE_CHECKING:
    from context_search.adapters.sqs_queue import SqsQueue
    from context_search.adapters.turbopuffer_vectors import TurbopufferVectors
    from context_search.ports.outside import AccessTokens, Objects
    from context_search.services.catalog.import_document import ImportDocument
    from context_search.services.indexing.enumeration import EnumerateIndex, Limits
    from context_search.services.indexing.index_node import IndexNode
    from context_search.services.indexing.index_nodes import IndexNodes
    from context_search.services.indexing.rebuild import Model
    from context_search.services.indexing.settle import SettleIndex
    from context_search.services.indexing.worker import Worker
    from context_search.services.searching.retrieval_settings import ManageRetrievalSettings
    from context_search.services.searching.search import Searcher
    from context_search.services.upkeep.cleanup import Cleanup
    from context_search.services.upkeep.expire_uploads import ExpireUploads
    from context_search.web.observed import ObservedSearch
    from context_search.web.routes.access.keys import KeyUseCases
    from context_search.web.routes.access.mcps import McpUseCases
    from context_search.web.routes.catalog.adopt import AdoptionUseCases
    from context_search.web.routes.catalog.tables import TableUseCases
    from context_search.web.routes.catalog.tools import ToolUseCases
    from context_search.web.routes.catalog.uploads import UploadUseCases
    from context_search.web.routes.indexing.project_index import ProjectIndexUseCases
    from context_search.web.routes.searching.project_search import ProjectSearchUseCases
    from context_search.web.routes.searching.retrieve import RetrieveUseCases
    from context_search.web.routes.searching.search import SearchUseCases
    from context_search.web.routes.upkeep.rebuilds import OperationUseCases

STATEMENT_MS = 10_000
# Postgres takes 5 s for 250 MB on a fast machine; the function has 120.
IMPORT_STATEMENT_MS = 80_000
EMBED_TIMEOUT_S = 30.0
QUESTIONS_AT_ONCE = 16
"""For each model: one that hangs holds up its own."""


@dataclass(frozen=True, slots=True)
class OnUse:
    """The port ``Queue``, over one that is made when there is something to send."""

    queue: Callable[[], Queue]

    def send(self, messages: Sequence[Message]) -> list[int]:
        return self.queue().send(messages)

    def is_empty(self) -> bool:
        return self.queue().is_empty()


class Parts(LiveSettings):
    """The outside parts of a process, and the use cases over them."""

    def __init__(
        self, settings: Settings, read_again: Callable[[], Settings] | None = None
    ) -> None:
        super().__init__(settings, read_again)
        self._embedders: dict[tuple[str, int], Embedder] = {}

    @cached_property
    def postgres(self) -> PostgresStore:
        """Postgres, which delivers nothing."""
        return PostgresStore(self._connecting(STATEMENT_MS))

    @property
    def deliver(self) -> Deliver:
        """Sends orders; those of twice as many as there are workers at once."""
        return Deliver(self.postgres, self.queue_on_use, 2 * self.settings.index_concurrency)

    @property
    def store(self) -> Store:
        """Postgres; what a transaction sends leaves when it has committed."""
        return SendingStore(self.postgres, self.deliver)

    def _connecting(self, statement_timeout_ms: int) -> Database:
        return Database(
            DatabaseUrl.parse(self.settings.database_url),
            max_connections=self.settings.database_connections,
            statement_timeout_ms=statement_timeout_ms,
            instead_of=lambda refused: self.instead_of(
                refused, lambda settings: DatabaseUrl.parse(settings.database_url)
            ),
        )

    @cached_property
    def vectors(self) -> TurbopufferVectors:
        """turbopuffer."""
        from context_search.adapters.turbopuffer_vectors import TurbopufferVectors  # noqa: PLC0415

        return TurbopufferVectors(
            api_key=self.settings.turbopuffer_api_key,
            region=self.settings.turbopuffer_region,
            base_url=self.settings.turbopuffer_base_url,
            instead_of=lambda refused: self.instead_of(
                refused, lambda settings: settings.turbopuffer_api_key
            ),
        )

    @cached_property
    def queue(self) -> SqsQueue:
        """SQS."""
        from context_search.adapters.sqs_queue import SqsQueue, sqs_client  # noqa: PLC0415

        settings = self.settings
        return SqsQueue(sqs_client(), settings.queue_url, settings.dead_letter_queue_url)

    @property
    def queue_on_use(self) -> Queue:
        """SQS, whose client is made with the first message: a search has none as a rule."""
        return OnUse(lambda: self.queue)

    def embedder_of(self, config: IndexConfig) -> Embedder:
        """The embedding model that an index was built with."""
        from context_search.adapters.litellm_embedder import LitellmEmbedder  # noqa: PLC0415

        key = (config.model, config.dimensions)
        if key not in self._embedders:
            self._embedders[key] = LitellmEmbedder(
                config.model,
                config.dimensions,
                query_params=self.settings.embedding_query_params,
                passage_params=self.settings.embedding_passage_params,
                api_key=self.settings.embedding_api_key,
                api_base=self.settings.embedding_api_base,
                instead_of=lambda refused: self.instead_of(
                    refused, lambda settings: settings.embedding_api_key
                ),
            )
        return self._embedders[key]

    def deadline(self, context: Any) -> Deadline:
        """Returns when Lambda will stop this invocation."""
        left_s = context.get_remaining_time_in_millis() / 1000
        return Deadline(self.clock, self.clock.monotonic() + left_s)

    @cached_property
    def objects(self) -> Objects:
        """S3."""
        from context_search.adapters.s3_objects import S3Objects, s3_client  # noqa: PLC0415

        return S3Objects(s3_client(), self.settings.upload_bucket)

    @cached_property
    def patient_postgres(self) -> PostgresStore:
        """Postgres, with time for a large document: a connection of its own."""
        return PostgresStore(self._connecting(IMPORT_STATEMENT_MS))

    @property
    def patient_store(self) -> Store:
        """The same, with its delivery."""
        return SendingStore(self.patient_postgres, self.deliver)

    @cached_property
    def import_document(self) -> ImportDocument:
        """The order ``import``."""
        from context_search.services.catalog.import_document import ImportDocument  # noqa: PLC0415

        return ImportDocument(
            self.store,
            self.patient_store,
            self.objects,
            self.settings.upload_max_bytes,
            self.settings.memory_bytes,
        )

    @property
    def expire_uploads(self) -> ExpireUploads:
        """What cleanup does for uploads."""
        from context_search.services.upkeep.expire_uploads import ExpireUploads  # noqa: PLC0415

        return ExpireUploads(self.store, self.objects)

    @cached_property
    def uploads(self) -> UploadUseCases:
        """The use cases of uploads."""
        from context_search.services.catalog import uploads  # noqa: PLC0415
        from context_search.web.routes.catalog.uploads import UploadUseCases  # noqa: PLC0415

        return UploadUseCases(
            create=uploads.CreateUpload(self.store, self.objects, self.settings.upload_max_bytes),
            complete=uploads.CompleteUpload(
                self.store,
                self.objects,
                self.settings.upload_max_bytes,
            ),
            read=uploads.ReadUpload(self.store),
        )

    # What the queue and the schedule ask for

    @property
    def worker(self) -> Worker:
        """What workers do with their orders; each kind is made for its first one."""
        from context_search.services.indexing.order_book import OrderBook  # noqa: PLC0415
        from context_search.services.indexing.worker import Worker  # noqa: PLC0415

        return Worker(
            OrderBook(self.store, self.deliver),
            lambda node_ids, deadline: self.index_nodes(node_ids, deadline),  # noqa: PLW0108 - later
            lambda index_id, table_id: self.enumerate_index(index_id, table_id),  # noqa: PLW0108
            lambda upload_id: self.import_document(upload_id),  # noqa: PLW0108
        )

    @property
    def limits(self) -> Limits:
        """What one node may be at most."""
        from context_search.services.indexing.enumeration import Limits  # noqa: PLC0415

        return Limits(self.settings.max_node_chars, self.settings.max_node_chunks)

    @property
    def model(self) -> Model:
        """What new indexes are built with."""
        from context_search.services.indexing.rebuild import Model  # noqa: PLC0415

        settings = self.settings
        return Model(
            name=settings.embedding_model,
            dimensions=settings.embedding_dimensions,
            window_tokens=settings.embedding_window_tokens,
            price=settings.embedding_price,
        )

    @property
    def settle(self) -> SettleIndex:
        """What follows when a node is done."""
        from context_search.services.indexing.settle import SettleIndex  # noqa: PLC0415

        return SettleIndex(self.store, self.settings.silent_after_s)

    @cached_property
    def index_node(self) -> IndexNode:
        """The order ``node``."""
        from context_search.services.indexing.chunk_vectors import ChunkVectors  # noqa: PLC0415
        from context_search.services.indexing.index_node import IndexLimits, IndexNode  # noqa: PLC0415

        return IndexNode(
            store=self.store,
            vectors=self.vectors,
            chunk_vectors=ChunkVectors(self.store, self.vectors, self.embedder_of, EMBED_TIMEOUT_S),
            settle=self.settle,
            clock=self.clock,
            limits=IndexLimits(
                lease_s=self.settings.index_lease_s, project=self.settings.project_limits
            ),
        )

    @cached_property
    def index_nodes(self) -> IndexNodes:
        """The order ``nodes``."""
        from context_search.services.indexing.index_nodes import IndexNodes  # noqa: PLC0415
        from context_search.services.indexing.index_together import IndexTogether  # noqa: PLC0415

        together = IndexTogether(self.index_node)
        return IndexNodes(self.store, self.index_node, together)

    @cached_property
    def enumerate_index(self) -> EnumerateIndex:
        """The order ``enumerate``."""
        from context_search.services.indexing.enumeration import EnumerateIndex  # noqa: PLC0415

        return EnumerateIndex(self.store, self.settle, self.limits)

    @cached_property
    def cleanup(self) -> Cleanup:
        """The scheduled run."""
        from context_search.services.indexing.outgoing import RelayOutbox  # noqa: PLC0415
        from context_search.services.upkeep.cleanup import Cleanup  # noqa: PLC0415
        from context_search.services.upkeep.cleanup_report import CleanupLimits  # noqa: PLC0415
        from context_search.services.upkeep.sweep import SweepNamespace  # noqa: PLC0415

        return Cleanup(
            store=self.store,
            vectors=self.vectors,
            relay=RelayOutbox(self.store, self.deliver),
            settle=self.settle,
            sweep=SweepNamespace(self.store, self.vectors),
            uploads=self.expire_uploads,
            limits=CleanupLimits(
                self.settings.silent_after_s,
                self.settings.delete_grace_s,
                project=self.settings.project_limits,
                deletes_unknown=self.settings.delete_unknown_namespaces,
            ),
        )

    # Whole projects

    @cached_property
    def adoption(self) -> AdoptionUseCases:
        """The use case of those who bring a database of their own."""
        from context_search.services.catalog.adopt import TakeOverTools  # noqa: PLC0415
        from context_search.web.routes.catalog.adopt import AdoptionUseCases  # noqa: PLC0415

        return AdoptionUseCases(TakeOverTools(self.store), self.model)

    @cached_property
    def project_index(self) -> ProjectIndexUseCases:
        """The use cases of the index over all tables of a project."""
        from context_search.services.indexing import (  # noqa: PLC0415
            project_index,
            rebuild,
        )
        from context_search.web.routes.indexing.project_index import ProjectIndexUseCases  # noqa: PLC0415

        silent_s = self.settings.silent_after_s
        return ProjectIndexUseCases(
            switch_on=project_index.SwitchProjectIndexOn(self.store, self.model, silent_s),
            switch_off=project_index.SwitchProjectIndexOff(self.store),
            read=project_index.ReadProjectIndex(self.store, silent_s),
            start_rebuild=rebuild.StartRebuild(self.store, self.model),
            roll_back=rebuild.RollBack(self.store),
        )

    # Who may do what

    @property
    def authenticate_key(self) -> Authenticate:
        """Keys, and nothing but keys: what travels in a path."""
        return Authenticate(self.store)

    @property
    def authenticate(self) -> AuthenticateBearer:
        """Bearer keys, and tokens where an issuer is configured."""
        return AuthenticateBearer(self.authenticate_key, self._authenticate_token)

    @property
    def _authenticate_token(self) -> AuthenticateToken | None:
        known, tokens = self.settings.tokens, self._tokens
        if known is None or tokens is None:
            return None
        # One secret for two purposes: what is hashed begins differently.
        subject_key = f"subject {self.fresh_settings.query_hash_key}"
        return AuthenticateToken(self.store, tokens, known.project_claim, subject_key)

    @cached_property
    def _tokens(self) -> Callable[[], AccessTokens] | None:
        known = self.settings.tokens
        if known is None:
            return None

        @cache
        def tokens() -> AccessTokens:
            from context_search.adapters.jwt_tokens import JwtTokens  # noqa: PLC0415

            return JwtTokens(known.issuer, known.audience, self.clock)

        return tokens

    @property
    def token_issuer(self) -> str | None:
        """Whose tokens are taken beside keys."""
        return self.settings.tokens.issuer if self.settings.tokens else None

    @property
    def authenticate_internal(self) -> AuthenticateInternal:
        """The shared secret."""
        return AuthenticateInternal(
            self.fresh_settings.internal_secrets,
            lambda refused: self.instead_of(refused, lambda settings: settings.internal_secrets),
        )

    @property
    def answer_once(self) -> AnswerOnce:
        """Requests that come again."""
        return AnswerOnce(self.store)

    @cached_property
    def keys(self) -> KeyUseCases:
        """The use cases of keys."""
        from context_search.services.access import keys  # noqa: PLC0415
        from context_search.web.routes.access.keys import KeyUseCases  # noqa: PLC0415

        return KeyUseCases(
            create=keys.CreateKey(self.store),
            list=keys.ListKeys(self.store),
            revoke=keys.RevokeKey(self.store),
            rotate=keys.RotateKey(self.store),
        )

    @cached_property
    def mcps(self) -> McpUseCases:
        """The use cases of MCP instances."""
        from context_search.services.access import mcp_instances  # noqa: PLC0415
        from context_search.web.routes.access.mcps import McpUseCases  # noqa: PLC0415

        return McpUseCases(
            create=mcp_instances.CreateMcp(self.store),
            mcps=mcp_instances.Mcps(self.store),
            bindings=mcp_instances.Bindings(self.store),
            describe=mcp_instances.DescribeMcp(self.store, self.authenticate_key),
        )

    # What is asked over HTTP and MCP

    def check_ready(self) -> None:
        """Raises DatabaseUnavailableError when Postgres does not answer."""
        with self.store.for_all("say whether Postgres answers"):
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
