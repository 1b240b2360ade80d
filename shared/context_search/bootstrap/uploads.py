"""Uploads, over the adapters of a process."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from context_search.adapters.postgres.store import PostgresStore
from context_search.bootstrap.adapters import Adapters
from context_search.services.indexing.outgoing import SendingStore

if TYPE_CHECKING:
    from context_search.ports.outside import Objects
    from context_search.ports.store import Store
    from context_search.services.catalog.import_document import ImportDocument
    from context_search.services.upkeep.expire_uploads import ExpireUploads
    from context_search.web.routes.catalog.uploads import UploadUseCases

# Postgres takes 5 s for 250 MB on a fast machine; the function has 120.
IMPORT_STATEMENT_MS = 80_000


class UploadParts(Adapters):
    """Documents that come through S3."""

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
