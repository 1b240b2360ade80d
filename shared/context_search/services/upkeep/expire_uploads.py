"""What ``cleanup`` does for uploads: takes up what fell silent, forgets what is a day old."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.domain.orders import ImportUpload
from context_search.ports.outside import Objects
from context_search.ports.store import Store

UPLOAD_LIVES_S = 86_400.0
UPLOADS_PER_STEP = 50


@dataclass(frozen=True, slots=True)
class ExpireUploads:
    """Uploads end: imported, failed, or forgotten a day after they were made."""

    store: Store
    objects: Objects

    def revive(self, silent_s: float) -> int:
        """Orders imports again that nobody has worked on for so long; returns how many."""
        with self.store.for_all("upkeep") as work:
            silent = work.uploads.silent(silent_s=silent_s, limit=UPLOADS_PER_STEP)
            work.send(*(ImportUpload(upload_id) for upload_id in silent))
        return len(silent)

    def forget(self) -> int:
        """Deletes objects, then rows, of what is outdated; returns how many, at most 50."""
        with self.store.for_all("upkeep") as work:
            outdated = work.uploads.outdated(older_than_s=UPLOAD_LIVES_S, limit=UPLOADS_PER_STEP)
        for upload in outdated:
            self.objects.delete(upload.key)
        with self.store.for_all("upkeep") as work:
            work.uploads.forget([upload.id for upload in outdated])
        return len(outdated)
