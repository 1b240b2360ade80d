"""The nouns of the system: tables, tools, indexes, nodes and chunks, as frozen values."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Literal, NamedTuple

from context_search.core.cites import Cite
from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.filters import Fields, Filter
from context_search.core.json_pointer import contains
from context_search.core.progress import EvictionCause

GenerationState = Literal["queued", "building", "active", "previous", "retired"]


@dataclass(frozen=True, slots=True)
class Project:
    """A tenant. Nothing of one project is ever visible to another."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Table:
    """One JSON document; ``revision`` counts its changes. Rows of others may lack name and time.

    ``url_template``: the address of its places in its owner's application, as somebody wrote it.
    """

    id: int
    project_id: int
    name: str | None
    description: str | None
    revision: int
    updated_at: datetime | None
    url_template: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """What a tool may see: one table, from ``json_pointer`` (``""`` is the root) downwards."""

    table_id: int
    json_pointer: str = ""


@dataclass(frozen=True, slots=True)
class Reach:
    """Where in an index a search may look: strings at ``json_pointer`` and below.

    ``table_ids`` None: in every table of the index. ``filter``: only strings whose fields it lets
    through. ``only_current``: no text that is older than its string, which a fixed rule may have
    hidden when it was written.
    """

    json_pointer: str = ""
    table_ids: tuple[int, ...] | None = None
    filter: Filter | None = None
    only_current: bool = False

    def covers(self, table_id: int, json_pointer: str) -> bool:
        """Says whether a place lies within, whatever the fields there are."""
        is_among = self.table_ids is None or table_id in self.table_ids
        return is_among and contains(self.json_pointer, json_pointer)


@dataclass(frozen=True, slots=True)
class SearchTool:
    """A live tool of type ``search`` with the index that serves it.

    ``threshold`` is the length of the shortest string that the index holds.
    """

    id: int
    project_id: int
    name: str
    description: str | None
    table_name: str | None
    scope: Scope
    search: SearchConfig
    index_id: int
    created_at: datetime | None
    threshold: int

    @property
    def reach(self) -> Reach:
        """Returns what a search with it can return: its scope, as far as its ``where`` lets."""
        where = self.search.where
        return Reach(self.scope.json_pointer, filter=where, only_current=where is not None)

    @property
    def settings(self) -> ToolSettings:
        """Returns what its owner may change of it."""
        return ToolSettings(self.name, self.description, self.search)


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """What may be changed of a Search Tool without new chunks and vectors."""

    name: str
    description: str | None
    search: SearchConfig

    @property
    def version(self) -> int:
        """Returns a number of up to 15 digits that is equal for equal settings.

        It is not a counter, because other programs write the rows of tools, too.
        """
        text = json.dumps([self.name, self.description, self.search.to_json()])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) % 10**15


@dataclass(frozen=True, slots=True)
class ToolsQuery:
    """Which tools of a project are wanted: of one table, bound to an MCP instance; None is all."""

    table_id: int | None = None
    mcp_id: int | None = None


ALL_TOOLS = ToolsQuery()


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """What the main service keeps in the row of a tool, and gets back as it is."""

    alias: str | None
    metadata: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class IndexCalibration:
    """What a generation was found to be worth without any judged question: docs/quality.md.

    ``vector_weight`` (0..1) is the share of the vectors in a fusion; None where fewer than 30
    sentences could be asked. ``middle`` and ``width`` are of cosines, as those of ``Calibration``.
    ``questions``: sentences that were asked; ``chunks``: what the generation held ``at`` the time.
    """

    vector_weight: float | None
    middle: float
    width: float
    questions: int
    chunks: int
    at: datetime

    def to_json(self) -> str:
        """Returns the canonical JSON text."""
        given = {**asdict(self), "at": self.at.isoformat()}
        return json.dumps(given, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> IndexCalibration:
        """Returns what ``to_json`` wrote; fields that only a later release knows are left out."""
        said = json.loads(text)
        known = {each.name: said[each.name] for each in fields(cls)}
        return cls(**{**known, "at": datetime.fromisoformat(said["at"])})


@dataclass(frozen=True, slots=True)
class Generation:
    """One build of an index, which is one namespace of turbopuffer. Builds count from 1.

    The active generation answers queries; one that is being built beside it will take its place.
    """

    id: int
    namespace: str
    state: GenerationState = "active"
    number: int = 1
    calibration: IndexCalibration | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """One table under one configuration, and the generation of it that is meant.

    ``table_id`` None: every string of every table of the project, for project search.
    An evicted index holds nothing until it is searched. ``is_idle``: not searched for a minute.
    ``fields``: the names of those that are kept with each string, to filter by.
    """

    id: int
    project_id: int
    table_id: int | None
    config: IndexConfig
    generation: Generation
    is_rebuilding: bool = False
    evicted_at: datetime | None = None
    is_idle: bool = False
    evicted_by: EvictionCause | None = None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownNode:
    """What is stored of a node, for comparing with the document; ``fields`` None: nothing yet."""

    id: int
    pointer_sha256: bytes
    content_hash: str
    fields: Fields | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's right to index one node, until the lease ends or the fence moves on."""

    node_id: int
    fence: int
    attempt: int
    table_id: int
    json_pointer: str
    content_hash: str
    content: str
    config: IndexConfig
    namespace: str
    index_id: int


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """A chunk before it is stored: ``text`` is ``content[start:end]``, offsets are code points.

    ``trail`` are the lines it stands under. Chunks with equal ``rows_hash`` have equal vector rows.
    """

    index: int
    start: int
    end: int
    text: str
    trail: str
    input_hash: bytes
    rows_hash: bytes
    window_count: int = 1


@dataclass(frozen=True, slots=True)
class EmbeddedChunk:
    """A chunk whose vectors turbopuffer has, for another one with the same input."""

    input_hash: bytes
    namespace: str
    doc_id: str
    window_count: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk row of a set that is being built, or one that this set takes over."""

    index: int
    id: int
    doc_id: str
    text: str
    present: bool
    input_hash: bytes
    window_count: int


@dataclass(frozen=True, slots=True)
class KeptChunk:
    """A chunk of the active set that the next one takes over, and its place in that one."""

    id: int
    index: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ChunkSet:
    """All chunks of one node for one content, by index; ``is_new``: just inserted, not found.

    Those in ``kept`` belong to the active set until the swap.
    """

    id: int
    chunks: tuple[StoredChunk, ...]
    is_new: bool = False
    kept: tuple[KeptChunk, ...] = ()

    @property
    def has_own(self) -> bool:
        """Whether it has chunks that it has not taken over."""
        return len(self.chunks) > len(self.kept)

    @property
    def missing(self) -> list[StoredChunk]:
        """The chunks that turbopuffer had not acknowledged when the set was read."""
        return [chunk for chunk in self.chunks if not chunk.present]


MOST_KEPT = 10_000
"""Maximum number of chunks that a set takes over. To move them is one step, which has to end in
time; beyond that writing them anew is quicker."""


def kept_chunks(
    planned: Iterable[PlannedChunk], active: Iterable[tuple[int, bytes]]
) -> list[KeptChunk]:
    """Returns the chunks of an active set, given by id and ``rows_hash``, that a plan can keep.

    Each takes the first place where its vector rows are wanted. None, when they are too many. The
    same arguments have the same result, so a run goes on where another one stopped.
    """
    waiting: dict[bytes, deque[int]] = defaultdict(deque)
    for chunk_id, rows_hash in active:
        waiting[rows_hash].append(chunk_id)
    kept = [
        KeptChunk(waiting[chunk.rows_hash].popleft(), chunk.index, chunk.start, chunk.end)
        for chunk in planned
        if waiting.get(chunk.rows_hash)
    ]
    return kept if len(kept) <= MOST_KEPT else []


class HydratedChunk(NamedTuple):
    """A chunk as search returns it, read from Postgres: live, active and in scope.

    A tuple, because a search reads up to 10,000, and a frozen dataclass takes three times as long
    to make.
    """

    id: int
    table_id: int
    json_pointer: str
    chunk_index: int
    total_chunks: int
    chunk_text: str
    char_start: int
    char_end: int
    content_hash: str
    turbopuffer_namespace: str
    turbopuffer_doc_id: str
    changed_at: datetime
    stale: bool = False
    revision: int = 0
    """A revision of its table at which the document had its text; 0: none is known."""

    @property
    def cite(self) -> Cite:
        """The cite of its text, with the digest of that."""
        place = (self.table_id, self.json_pointer, self.revision, self.char_start)
        return Cite.of(*place, self.chunk_text, self.char_end)
