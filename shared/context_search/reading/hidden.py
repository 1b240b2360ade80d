"""What is hidden from callers who may not see keys and personal data."""

from __future__ import annotations

from context_search.core.callers import Principal
from context_search.searching.rules.retrieval import RetrievalSettings
from context_search.store import UnitOfWork
from context_search.text.sensitive.kinds import SensitiveKind


def kinds_of_project(work: UnitOfWork, project_id: int) -> tuple[SensitiveKind, ...]:
    """Returns what a project hides where something is hidden."""
    return work.projects.settings(RetrievalSettings, project_id).settings.kinds


def hidden_kinds(work: UnitOfWork, principal: Principal) -> tuple[SensitiveKind, ...]:
    """Returns what is hidden from a caller; nothing from one who may see everything."""
    return kinds_of_project(work, principal.project_id) if principal.redacts else ()
