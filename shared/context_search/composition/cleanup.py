"""The scheduled run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from context_search.catalog.uploads import ManageUploads
from context_search.composition.parts import Parts
from context_search.indexing.completion import IndexCompletion
from context_search.maintenance.cleanup import Cleanup, delete_expired_step, keep_uploads_step
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.scheduled_cleanup import ScheduledCleanup
from context_search.maintenance.sweep import PAGE, Sweep, SweepRounds
from context_search_editing.keeping import keep_plans_step


@dataclass
class CleanupFunction:
    """The use cases of ``cleanup``."""

    parts: Parts

    @cached_property
    def cleanup(self) -> Cleanup:
        """One run."""
        parts, settings, store = self.parts, self.parts.settings, self.parts.store
        limits = CleanupLimits(
            settings.silent_after_s,
            settings.delete_grace_s,
            project=settings.project_limits,
            deletes_unknown=settings.delete_unknown_namespaces,
            idle_s=settings.cleanup_idle_s,
        )
        uploads = ManageUploads(
            store, parts.objects, settings.upload_max_bytes, settings.project_bounds
        )
        return Cleanup(
            store=store,
            vectors=parts.vectors,
            completion=IndexCompletion(store, settings.silent_after_s),
            sweep=Sweep(store, parts.vectors),
            sweep_rounds=SweepRounds(
                store, settings.cleanup_every_s, limits.silent_s, limits.idle_s, PAGE
            ),
            limits=limits,
            further=[
                keep_uploads_step(uploads, silent_s=limits.silent_s),
                delete_expired_step(store),
                keep_plans_step(store, silent_s=limits.silent_s),
            ],
        )

    @cached_property
    def scheduled_cleanup(self) -> ScheduledCleanup:
        """When the scheduled run works and when it rests."""
        return ScheduledCleanup(self.cleanup, self.parts.clock)
