"""Documents that are uploaded before they are imported, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.catalog.rules.uploads import NewUpload, Upload


class Uploads(Protocol):
    """The rows."""

    def add(self, new: NewUpload) -> Upload:
        """Creates one that is ``pending``, or ``importing`` where the document is a version."""
        ...

    def pending(self, project_id: int, *, younger_than_s: float) -> int:
        """Returns how many of a project's uploads are ``pending`` and were made since then.

        Others who ask the same wait until the transaction ends, so that none is made uncounted.
        """
        ...

    def find(self, upload_id: int, *, table_id: int) -> Upload | None:
        """Returns an upload into that table."""
        ...

    def lock(self, upload_id: int) -> Upload | None:
        """Returns an upload and keeps others from changing it until the transaction ends."""
        ...

    def save(self, upload: Upload) -> None:
        """Writes what may change: state, bytes, revision, runs, last_error; and that it lives."""
        ...

    def silent(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns uploads that are being imported, but were not saved for that long.

        Each is returned once in that time.
        """
        ...

    def outdated(self, *, older_than_s: float, limit: int) -> list[Upload]:
        """Returns uploads that were made that long ago, or whose table is gone."""
        ...

    def forget(self, upload_ids: Sequence[int]) -> None:
        """Deletes rows."""
        ...
