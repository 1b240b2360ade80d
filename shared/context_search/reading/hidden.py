"""What is hidden from callers who may not see keys and personal data."""

from __future__ import annotations

from context_search.core.callers import Principal
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.store import UnitOfWork
from context_search.text.sensitive.kinds import SensitiveKind


def hidden_kinds(work: UnitOfWork, principal: Principal) -> tuple[SensitiveKind, ...]:
    """Returns what the project hides from a caller; nothing from one who may see everything."""
    if not principal.redacts:
        return ()
    return work.projects.settings(RetrievalSettings, principal.project_id).settings.kinds
