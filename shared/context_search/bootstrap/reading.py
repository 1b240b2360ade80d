"""What people are shown: who they are, lists, documents and indexes piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from context_search.domain.config import Model
from context_search.ports.store import Store
from context_search.settings import Settings

if TYPE_CHECKING:
    from context_search.services.catalog.list_tables import ListTables
    from context_search.services.catalog.outline import ReadPieces
    from context_search.services.indexing.strings import ReadStrings
    from context_search.web.routes.access.whoami import WhoAmIUseCases


@dataclass(frozen=True)
class ReadingParts:
    """The use cases that a console stands on; none of them changes anything."""

    store: Store
    settings: Settings
    model: Model
    token_issuer: str | None

    @cached_property
    def whoami(self) -> WhoAmIUseCases:
        """Who is calling, and what this deployment is."""
        from context_search.services.access.whoami import WhoAmI  # noqa: PLC0415
        from context_search.web.routes.access.whoami import Deployment, WhoAmIUseCases  # noqa: PLC0415

        deployment = Deployment(
            model=self.model,
            rerank_models=self.settings.rerank_models,
            token_issuer=self.token_issuer,
            has_uploads=bool(self.settings.upload_bucket),
            upload_bytes=self.settings.upload_max_bytes,
            string_chars=self.settings.max_node_chars,
            string_chunks=self.settings.max_node_chunks,
            project=self.settings.project_limits,
        )
        return WhoAmIUseCases(WhoAmI(self.store), deployment)

    @property
    def pieces(self) -> ReadPieces:
        """Documents of any size, piece by piece."""
        from context_search.services.catalog.outline import ReadPieces  # noqa: PLC0415

        return ReadPieces(self.store)

    @property
    def tables(self) -> ListTables:
        """The tables of a project."""
        from context_search.services.catalog.list_tables import ListTables  # noqa: PLC0415

        return ListTables(self.store, self.settings.silent_after_s)

    @property
    def strings(self) -> ReadStrings:
        """The strings of a tool one by one."""
        from context_search.services.indexing.strings import ReadStrings  # noqa: PLC0415

        return ReadStrings(self.store)
