"""How much a project may hold beside its indexes."""

from __future__ import annotations

from context_search.core.errors import ProjectFullError
from context_search.core.limits import HeldKind, ProjectBounds
from context_search.store import UnitOfWork

_NAMES: dict[HeldKind, str] = {
    "tables": "tables",
    "document_bytes": "bytes of documents",
    "tools": "Search Tools",
    "keys": "keys that are good",
    "mcps": "MCP instances",
}
UNCOUNTED_CHARS = 100_000
"""Maximum length of a new document whose project is not looked through. The number of tables
bounds what such documents take together.
"""


def check_bound(
    work: UnitOfWork, project_id: int, kind: HeldKind, bounds: ProjectBounds, *, more: int
) -> None:
    """Raises ProjectFullError where a project may not hold ``more`` of a kind.

    Requests at the same moment do not see each other: together they may pass a bound by a few.
    """
    most: int = getattr(bounds, kind)
    held = work.quotas.held(project_id, kind)
    if held + more > most:
        name = _NAMES[kind]
        raise ProjectFullError(
            f"the project would hold {held + more} {name} and may hold {most}: delete some, or ask"
            " the operator of this deployment for more",
            members={"limit": kind, "held": held, "most": most},
        )


def check_growth(
    work: UnitOfWork, project_id: int, bounds: ProjectBounds, text: str, before: str | None
) -> None:
    """Raises ProjectFullError where a document became longer and its project holds too much.

    ``before`` None: its earlier length is unknown.
    """
    if len(text) > UNCOUNTED_CHARS and (before is None or len(text) > len(before)):
        check_bound(work, project_id, "document_bytes", bounds, more=0)
