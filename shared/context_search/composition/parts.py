"""What the functions of a process stand on: Postgres, the queue, turbopuffer, objects, models."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache, cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from context_search.core.config import IndexConfig
from context_search.core.errors import ContextSearchError
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.integrations.live_settings import LiveSettings
from context_search.integrations.ports import Billed, Deadline, Embedder
from context_search.integrations.secrets import with_secrets
from context_search.integrations.sqs import SqsQueue
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.ranking.search import query_hash
from context_search.settings import Settings, environment
from context_search.store import PostgresStore, Store

if TYPE_CHECKING:
    from context_search.integrations.ports import Objects
    from context_search.integrations.turbopuffer import TurbopufferVectors

STATEMENT_MS = 10_000
# Postgres takes 5 s for 250 MB on a fast machine; the function has 120.
IMPORT_STATEMENT_MS = 80_000


class BillingMeter:
    """Adds up what providers bill, until ``take``. Threads may share it.

    A function takes the sum after each invocation. A thread that outlives its invocation adds to
    a later sum. Nothing is counted twice, and nothing is lost while the process lives.
    """

    def __init__(self) -> None:
        self._sum = Billed()
        self._lock = threading.Lock()

    def add(self, billed: Billed) -> None:
        """Adds what a reply told."""
        with self._lock:
            self._sum += billed

    def take(self) -> Billed:
        """Returns the sum since the last time."""
        with self._lock:
            taken, self._sum = self._sum, Billed()
        return taken


class Parts(LiveSettings):
    """The outside parts of a process, each made on first use and kept.

    The clients of turbopuffer, S3 and models are imported then, too: they take 60 to 150 ms, and
    most processes need one or two of them.
    """

    answers_within_s = 5.0
    """Seconds that a part has to say that it is well; all are asked at once."""

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

    @cached_property
    def patient_postgres(self) -> PostgresStore:
        """Postgres, with time for a large document: a connection of its own."""
        return PostgresStore(self._connecting(IMPORT_STATEMENT_MS))

    @cached_property
    def store(self) -> OutboxDelivery:
        """Postgres; what a transaction sends leaves when it has committed."""
        return self._delivering(self.postgres)

    @cached_property
    def patient_store(self) -> OutboxDelivery:
        """The patient Postgres, with its delivery."""
        return self._delivering(self.patient_postgres)

    def _delivering(self, store: Store) -> OutboxDelivery:
        """Has a project's messages leave, twice as many as there are workers at once."""
        window = 2 * self.settings.index_concurrency
        return OutboxDelivery(store, self.queue, _report_waiting, window)

    def _connecting(self, statement_timeout_ms: int) -> Database:
        return Database(
            _database_url(self.settings),
            max_connections=self.settings.database_connections,
            connect_timeout_s=self.settings.database_connect_s,
            statement_timeout_ms=statement_timeout_ms,
            instead_of=partial(self.instead_of, _database_url),
        )

    @cached_property
    def queue(self) -> SqsQueue:
        """SQS."""
        return SqsQueue(self.settings.queue_url, self.settings.dead_letter_queue_url)

    @cached_property
    def vectors(self) -> TurbopufferVectors:
        """turbopuffer."""
        from context_search.integrations.turbopuffer import TurbopufferVectors  # noqa: PLC0415

        return TurbopufferVectors(
            api_key=self.settings.turbopuffer_api_key,
            region=self.settings.turbopuffer_region,
            base_url=self.settings.turbopuffer_base_url,
            instead_of=partial(self.instead_of, attrgetter("turbopuffer_api_key")),
            on_billed=self.meter.add,
        )

    @cached_property
    def objects(self) -> Objects:
        """S3."""
        from context_search.integrations.s3 import S3Objects, s3_client  # noqa: PLC0415

        return S3Objects(s3_client(), self.settings.upload_bucket)

    def embedder_of(self, config: IndexConfig) -> Embedder:
        """The embedding model that an index was built with."""
        from context_search.composition.models import embedder  # noqa: PLC0415

        key = (config.model, config.dimensions)
        if key not in self._embedders:
            self._embedders[key] = embedder(config, self, self.meter.add)
        return self._embedders[key]

    def deadline(self, context: Any) -> Deadline:
        """Returns when Lambda will stop this invocation."""
        left_s = context.get_remaining_time_in_millis() / 1000
        return Deadline(self.clock, self.clock.monotonic() + left_s)

    def hash_of(self, query: str) -> str:
        """What logs say instead of a question."""
        return query_hash(self.fresh_settings.query_hash_key, query)


def _database_url(settings: Settings) -> DatabaseUrl:
    return DatabaseUrl.parse(settings.database_url)


def _report_waiting(error: ContextSearchError) -> None:
    """Writes why messages wait for ``cleanup``."""
    fields = {"code": error.code, "detail": error.message}
    logging.getLogger(__name__).warning("orders wait in the book", extra=fields)


@cache
def parts() -> Parts:
    """Returns the parts of this process, made from its environment."""
    return Parts(_settings(), _settings)


def _settings() -> Settings:
    """Returns the settings as they are now. Raises ContextSearchError for unusable ones."""
    settings = Settings.from_environ(with_secrets(environment()))
    _database_url(settings)  # rather here than when a connection is needed
    return settings
