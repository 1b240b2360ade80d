"""What retrieval reads: chunks around hits, and how projects want it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.domain.retrieval import ChunkText, RetrievalSettings, StoredSettings


class Surroundings(Protocol):
    """Chunks with those beside them in their text."""

    def around(self, chunk_ids: Sequence[int], *, reach: int) -> list[ChunkText]:
        """Returns chunks and up to ``reach`` others before and after each, by set and index.

        Only of sets that are active; each chunk once.
        """
        ...


class RetrievalSettingsRows(Protocol):
    """The settings of projects; a project without any has the defaults, at version 0."""

    def read(self, project_id: int) -> StoredSettings:
        """Returns the settings of a project."""
        ...

    def lock(self, project_id: int) -> StoredSettings:
        """Does the same, and keeps others from changing them until the transaction ends."""
        ...

    def write(self, project_id: int, settings: RetrievalSettings) -> StoredSettings:
        """Writes the settings as the next version. The caller holds the lock."""
        ...
