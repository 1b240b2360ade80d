"""What a console stands on: who is there, lists, pieces of documents and indexes, health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from context_search.core.config import Model
from context_search.integrations.ports import Clock
from context_search.settings import Settings
from context_search.store import Store

if TYPE_CHECKING:
    from context_search.access.routes.whoami import WhoAmIUseCases
    from context_search.catalog.judged_sets import ManageJudgedSets
    from context_search.catalog.list_tables import ListTables
    from context_search.catalog.outline import ReadPieces
    from context_search.indexing.strings import ReadStrings
    from context_search.maintenance.part_checks import PartCheck
    from context_search.maintenance.project_health import ReadProjectHealth


@dataclass(frozen=True)
class ReadingParts:
    """The use cases that a console stands on; only judged sets are changed by them."""

    store: Store
    settings: Settings
    model: Model
    token_issuer: str | None
    clock: Clock
    outside: Sequence[PartCheck]

    @cached_property
    def whoami(self) -> WhoAmIUseCases:
        """Who is calling, and what this deployment is."""
        from context_search.access.routes.whoami import Deployment, WhoAmIUseCases  # noqa: PLC0415
        from context_search.access.whoami import WhoAmI  # noqa: PLC0415

        deployment = Deployment(
            model=self.model,
            rerank_models=self.settings.rerank_models,
            token_issuer=self.token_issuer,
            has_console=self.settings.console,
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
        from context_search.catalog.outline import ReadPieces  # noqa: PLC0415

        return ReadPieces(self.store)

    @property
    def tables(self) -> ListTables:
        """The tables of a project."""
        from context_search.catalog.list_tables import ListTables  # noqa: PLC0415

        return ListTables(self.store, self.settings.silent_after_s)

    @property
    def strings(self) -> ReadStrings:
        """The strings of a tool one by one."""
        from context_search.indexing.strings import ReadStrings  # noqa: PLC0415

        return ReadStrings(self.store)

    @property
    def judged_sets(self) -> ManageJudgedSets:
        """Questions of a project with what answers them."""
        from context_search.catalog.judged_sets import ManageJudgedSets  # noqa: PLC0415

        return ManageJudgedSets(self.store)

    @property
    def health(self) -> ReadProjectHealth:
        """How a project is."""
        from context_search.maintenance.project_health import (  # noqa: PLC0415
            HealthLimits,
            ReadProjectHealth,
        )

        settings = self.settings
        limits = HealthLimits(
            settings.project_limits,
            settings.project_bounds,
            settings.daily_limits,
            settings.silent_after_s,
            settings.cleanup_every_s,
        )
        return ReadProjectHealth(self.store, limits, self.clock, self.outside)
