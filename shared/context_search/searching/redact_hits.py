"""Hits for agents that may not see keys and personal data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from context_search.core.model import HydratedChunk
from context_search.searching.retrieve import read_sources
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.store import Store
from context_search.text.redaction import Excerpt
from context_search.text.sensitive.kinds import SensitiveKind


@dataclass(frozen=True, slots=True)
class RedactHits:
    """Hides the kinds that the project has chosen for its retrieval, also where that hides none."""

    store: Store

    def kinds(self, project_id: int) -> tuple[SensitiveKind, ...]:
        """Returns what is hidden."""
        with self.store.for_project(project_id) as work:
            return work.project_settings.read(RetrievalSettings, project_id).settings.kinds

    def excerpts(self, project_id: int, hits: Sequence[HydratedChunk]) -> Mapping[int, Excerpt]:
        """Returns by chunk id the text around each hit, and what of it must not be shown."""
        if not hits:
            return {}
        with self.store.for_project(project_id) as work:
            settings = work.project_settings.read(RetrievalSettings, project_id).settings
            alone = replace(settings, neighbours=0, redaction=True)
            sources = read_sources(work.live_chunks, hits, alone)
        return {chunk.id: excerpt for source, excerpt in sources for chunk in source.chunks}
