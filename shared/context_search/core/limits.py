"""How much a project may hold, index and spend."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

BYTES_PER_NUMBER = 4
LONGEST_RETRY_S = 43_200.0
"""Maximum pause before a retry, in seconds. SQS cannot hide a message for longer."""
MAX_INLINE_BYTES = 6_000_000
"""Maximum bytes of a body and of an answer."""
MAX_UPLOAD_BYTES = 250_000_000
MAX_WINDOW = 100_000
"""Maximum length of a window of a string, in code points."""


MANAGEMENT_POOL = "management"
"""The pool of permits for the expensive management requests of all projects together."""


def search_pool(project_id: int) -> str:
    """Returns the name of the pool of permits for the searches of a project."""
    return f"searches of project {project_id}"


def management_pool(project_id: int) -> str:
    """Returns the name of the pool of permits for a project's expensive management requests."""
    return f"management of project {project_id}"


def wait_pool(project_id: int) -> str:
    """Returns the name of the pool of permits for a project's requests that wait for an index."""
    return f"waits of project {project_id}"


def project_pools(project_id: int) -> list[str]:
    """Returns the names of all pools of permits that are a project's own."""
    return [search_pool(project_id), management_pool(project_id), wait_pool(project_id)]


@dataclass(frozen=True, slots=True)
class Usage:
    """What is stored: a number of chunks, and the bytes of their vectors (rows × dimensions ×
    4).
    """

    chunks: int
    vector_bytes: int

    @classmethod
    def of(cls, *, chunks: int, rows: int, dimensions: int) -> Usage:
        """Returns the usage of so many chunks; each window is one vector row."""
        return cls(chunks, rows * dimensions * BYTES_PER_NUMBER)

    def fits(self, room: Usage) -> bool:
        """Says whether this usage fits into a room. Zero usage always does."""
        enough_chunks = self.chunks <= max(0, room.chunks)
        return enough_chunks and self.vector_bytes <= max(0, room.vector_bytes)


@dataclass(frozen=True, slots=True)
class ProjectLimits:
    """What one project may hold, and after how many seconds without a search an index is cold.

    Over either limit, the index that was not searched for the longest time is evicted; an index
    that is not cold never is.
    """

    max_chunks: int = 5_000_000
    max_vector_bytes: int = 20 * 10**9
    idle_s: float = 3600.0


HeldKind = Literal["tables", "document_bytes", "tools", "keys", "mcps"]
"""What a project holds beside its indexes. ``document_bytes`` are those that Postgres stores."""
HELD_KINDS: tuple[HeldKind, ...] = ("tables", "document_bytes", "tools", "keys", "mcps")


@dataclass(frozen=True, slots=True)
class ProjectBounds:
    """How much of each kind a project may hold. What it holds over a bound stays as it is.

    ``token_key_s``: seconds that a key made with a token lives at most; None: for ever.
    """

    tables: int = 20_000
    document_bytes: int = 20 * 10**9
    tools: int = 20_000
    keys: int = 1_000
    mcps: int = 1_000
    token_key_s: float | None = 90 * 86_400.0


@dataclass(frozen=True, slots=True)
class DailyLimits:
    """How much a project may spend on models in a day (UTC); None: as much as it asks for."""

    embedding_tokens: int | None = None
    reranks: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What was spent on models for a project in a day (UTC).

    ``embedding_tokens`` are those of indexed chunks, as we estimate them before they are sent.
    ``reranks`` are requests to a reranking model.
    """

    day: date
    embedding_tokens: int
    reranks: int
