"""What a search reads and keeps in Postgres: chunks, keywords, permits, rankings, settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.domain.filters import Fields
from context_search.domain.model import HydratedChunk, Index, Reach, SearchTool
from context_search.domain.retrieval import ChunkText, RetrievalSettings, StoredSettings
from context_search.ports.outside import Ranked


@dataclass(frozen=True, slots=True)
class SeenFields:
    """Filterable fields of strings that a tool may show; ``are_all``: of all that it may show."""

    of: tuple[Fields, ...] = ()
    are_all: bool = False


class LiveChunks(Protocol):
    """Chunks that a search may show."""

    def hydrate(
        self, index: Index, reach: Reach, doc_ids: Sequence[str], *, texts: bool = True
    ) -> dict[str, HydratedChunk]:
        """Returns the chunks among ``doc_ids`` that a search may show, keyed by those ids.

        Only chunks of active sets, within reach, of pointers that still exist; ``stale``
        when the live text is another one by now. A filter holds for the fields that the document
        has now. Without ``texts`` each ``chunk_text`` is empty.
        """
        ...

    def matching(
        self, index: Index, reach: Reach, *, most: int, timeout_s: float
    ) -> list[str] | None:
        """Returns the pointers of all searchable strings that a reach's filter lets through.

        By the fields that are stored. None without a filter, when they are over ``most``, and
        while a table's fields are not known. Raises DatabaseUnavailableError when it takes longer
        than ``timeout_s``, which is the limit of the transaction from then on.
        """
        ...

    def seen_fields(
        self, tool: SearchTool, *, most: int, among: int, timeout_s: float
    ) -> SeenFields:
        """Returns the filterable fields of up to ``most`` strings of a tool's scope.

        They are looked for among the first ``among`` of its index, in an order that stays; where
        one of these numbers is reached, they count as not all. Strings
        that the tool's ``where`` hides are left out, and so are fields of over 4,096 bytes. Empty
        while the fields of the table are not known, and with ``where``, while it has changed since.
        Raises DatabaseUnavailableError as ``matching`` does.
        """
        ...

    def texts(self, index: Index, doc_ids: Sequence[str]) -> dict[str, str]:
        """Returns the texts of chunks that ``hydrate`` gave, of those that are still there."""
        ...

    def first_texts(
        self, index: Index, places: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], str]:
        """Returns the text of the first chunk of strings, by table and pointer, where it is there.

        Whole, for a short string.
        """
        ...

    def around(
        self, chunk_ids: Sequence[int], *, contents: Collection[str], reach: int
    ) -> list[ChunkText]:
        """Returns chunks and up to ``reach`` others before and after each, by set and index.

        Only of sets that are active, and of strings with these content hashes: a chunk that another
        version has taken over since is not there. Each chunk once.
        """
        ...

    def is_empty(self, index: Index) -> bool:
        """Says whether turbopuffer was never given a chunk of the generation that is live now."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What a search reads in the end: its tool, or without one its project, the status of the index
    that was searched, and chunks within reach, with or without ``texts``.
    """

    tool_id: int | None
    project_id: int | None
    index: Index
    reach: Reach
    doc_ids: Sequence[str]
    texts: bool


@dataclass(frozen=True, slots=True)
class ChunkTokens:
    """The tokens of one chunk, in order, with repetitions."""

    chunk_id: int
    tokens: Sequence[str]


class Keywords(Protocol):
    """Keyword search in Postgres: for lean storage, and while turbopuffer is down."""

    def put(self, chunks: Sequence[ChunkTokens]) -> None:
        """Keeps the tokens of chunks; of those that have some already, or are gone, nothing."""
        ...

    def best(
        self,
        index: Index,
        reach: Reach,
        words: Mapping[str, float],
        limit: int,
        *,
        timeout_s: float,
    ) -> list[Ranked]:
        """Returns up to ``limit`` chunks that have any of ``words``, by BM25, ties by id.

        A word's BM25 is multiplied by its value, what it counts.

        Only active chunks of the index's generation within ``reach``; its filter holds for the
        fields that are stored, or that nobody has stored yet. A statement that takes
        longer than ``timeout_s`` raises KeywordTimeoutError and ends the transaction; the limit
        is that of the transaction from then on, so it should do nothing else.
        """
        ...


@dataclass(frozen=True, slots=True)
class UnkeyedChunk:
    """A chunk whose tokens are not kept: where it is in the text around it, in code points."""

    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Unkeyed:
    """Chunks of one string, in order, whose tokens are not kept.

    ``text``: the string up to the last of them, from its beginning; of a very long string only
    ``TEXTS_ABOVE`` chunks before the first of them.
    """

    text: str
    chunks: Sequence[UnkeyedChunk]


TEXTS_ABOVE = 2_000
"""Maximum number of chunks before one that are read to find the headings above it."""
WORDS_WAIT_S = 600.0
"""Seconds after which the words of a set are written although its project has strings to index."""


class WordsBacklog(Protocol):
    """Chunk sets whose tokens are to be kept later: those of full storage (decision 0053)."""

    def note(self, set_ids: Sequence[int]) -> None:
        """Notes that the tokens of these sets' chunks are to be kept."""
        ...

    def is_behind(self, index: Index) -> bool:
        """Says whether tokens of chunks that the index finds by are not kept yet."""
        ...

    def take(self, *, limit: int, wait_s: float = WORDS_WAIT_S) -> list[Unkeyed]:
        """Takes up to ``limit`` chunks whose tokens are to be kept, or were deleted by hand.

        Of generations that answer. Those of a project that has strings to index wait until it has
        none, or for ``wait_s``. The caller puts their tokens in the same transaction; no later call
        gives them.
        """
        ...


class Permits(Protocol):
    """Pools of numbered permits. A permit that nobody gave back is free again after its lease.

    ``take`` is a transaction by itself: nothing else may run in it. ``give_back`` goes with what
    is read next, or with the end of the transaction.
    """

    def take(self, pool: str, *, size: int, count: int, lease_s: float) -> str | None:
        """Takes ``count`` of the ``size`` permits of a pool, all or none.

        Returns the holder to give back with; None when too few are free. Never waits.
        """
        ...

    def give_back(self, pool: str, holder: str) -> None:
        """Frees what ``holder`` has; nothing happens when its lease has ended."""
        ...

    def forget_unused(self, *, unused_s: float, limit: int) -> int:
        """Deletes the rows of permits that nobody took for so long; returns how many."""
        ...


class Rankings(Protocol):
    """Small JSON objects with names that cannot be guessed; a project sees only its own."""

    def keep(self, project_id: int, body: Mapping[str, object], *, at_most: int) -> str:
        """Keeps a ranking and returns its name: 32 hexadecimal digits.

        Of a project's rankings only the newest ``at_most`` are kept.
        """
        ...

    def find(self, project_id: int, name: str, *, max_age_s: float) -> dict[str, object] | None:
        """Returns what was kept under a name, if it is not older than that."""
        ...

    def forget_old(self, *, older_than_s: float) -> int:
        """Deletes rankings of that age; returns how many."""
        ...


class ProjectSettings(Protocol):
    """How projects retrieve; a project without settings has the defaults, at version 0."""

    def read(self, project_id: int) -> StoredSettings:
        """Returns the settings of a project."""
        ...

    def lock(self, project_id: int) -> StoredSettings:
        """Returns the settings, and keeps others from changing them until the transaction ends."""
        ...

    def write(self, project_id: int, settings: RetrievalSettings) -> StoredSettings:
        """Writes the settings as the next version. The caller holds the lock."""
        ...
