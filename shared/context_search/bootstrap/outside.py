"""What a process reaches outside of itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from context_search.adapters.billing_meter import BillingMeter
from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.adapters.postgres.url import DatabaseUrl
from context_search.bootstrap.live_settings import LiveSettings
from context_search.domain.config import IndexConfig
from context_search.domain.errors import ContextSearchError
from context_search.ports.outside import Deadline, Embedder, Message, Queue
from context_search.ports.store import Store
from context_search.services.indexing.outgoing import Deliver, SendingStore
from context_search.settings import Settings

if TYPE_CHECKING:
    from context_search.adapters.sqs_queue import SqsQueue
    from context_search.adapters.turbopuffer_vectors import TurbopufferVectors
    from context_search.ports.outside import Objects

STATEMENT_MS = 10_000
# Postgres takes 5 s for 250 MB on a fast machine; the function has 120.
IMPORT_STATEMENT_MS = 80_000


@dataclass(frozen=True, slots=True)
class OnUse:
    """The port ``Queue``, over one that is made when there is something to send."""

    queue: Callable[[], Queue]

    def send(self, messages: Sequence[Message]) -> list[int]:
        return self.queue().send(messages)

    def is_empty(self) -> bool:
        return self.queue().is_empty()


class OutsideParts(LiveSettings):
    """Postgres, turbopuffer, SQS, S3 and the models, each made on first use."""

    def __init__(
        self, settings: Settings, read_again: Callable[[], Settings] | None = None
    ) -> None:
        super().__init__(settings, read_again)
        self._embedders: dict[tuple[str, int], Embedder] = {}
        self.meter = BillingMeter()

    @cached_property
    def postgres(self) -> PostgresStore:
        """Postgres, which delivers nothing."""
        return PostgresStore(self._connecting(STATEMENT_MS))

    @property
    def deliver(self) -> Deliver:
        """Sends orders; those of twice as many as there are workers at once."""
        window = 2 * self.settings.index_concurrency
        return Deliver(self.postgres, self.queue_on_use, tell_of, window)

    @property
    def store(self) -> Store:
        """Postgres; what a transaction sends leaves when it has committed."""
        return SendingStore(self.postgres, self.deliver)

    def _connecting(self, statement_timeout_ms: int) -> Database:
        return Database(
            DatabaseUrl.parse(self.settings.database_url),
            max_connections=self.settings.database_connections,
            connect_timeout_s=self.settings.database_connect_s,
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
            on_billed=self.meter.add,
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
                on_billed=self.meter.add,
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
        """The patient Postgres, with its delivery."""
        return SendingStore(self.patient_postgres, self.deliver)


def tell_of(error: ContextSearchError) -> None:
    """Writes why orders wait for ``cleanup``."""
    fields = {"code": error.code, "detail": error.message}
    logging.getLogger(__name__).warning("orders wait in the book", extra=fields)
