"""Indexes, nodes, chunks and orders, as rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from context_search.domain.config import IndexConfig
from context_search.domain.documents import StringNode
from context_search.domain.filters import Fields
from context_search.domain.limits import ProjectLimits, Usage
from context_search.domain.model import (
    ChunkSet,
    Claim,
    EmbeddedChunk,
    Index,
    IndexCalibration,
    KnownNode,
    PlannedChunk,
    Scope,
)
from context_search.domain.orders import Order
from context_search.domain.progress import IndexStatus, NodeProgress, NodeState, Progress
from context_search.ports.outside import Message

FRESH = 0.9
"""Share of a lease that has to be left for it not to be renewed."""


@dataclass(frozen=True, slots=True)
class NodeUpsert:
    """A node as the document has it now; ``skip_reason`` is set when it breaks a limit.

    The store adds ``at`` to the reason. ``fields`` None: the index keeps none.
    """

    node: StringNode
    content_hash: str
    skip_reason: Mapping[str, object] | None = None
    fields: Fields | None = None


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """The nodes of some generations at a ``scope`` and below; with ``pointer`` that one alone."""

    generation_ids: Sequence[int]
    scope: str
    pointer: str | None = None


class Nodes(Protocol):
    """Big strings and their way through the index: queued, claimed, indexed.

    What takes or holds many never waits for a row that another transaction has: such a node is left
    out. So two transactions that want the same nodes cannot block each other, in whatever order.
    """

    def known(self, generation_id: int, table_id: int) -> list[KnownNode]:
        """Returns every node that a generation has of a table."""
        ...

    def known_by(self, generation_id: int, table_id: int, keys: Sequence[bytes]) -> list[KnownNode]:
        """Returns those nodes of them whose ``pointer_sha256`` begins with one of ``keys``.

        Of ``KEY_BYTES`` each. Without their fields.
        """
        ...

    def upsert(self, index: Index, table_id: int, nodes: Sequence[NodeUpsert]) -> list[int]:
        """Inserts or overwrites nodes of a table: queued, or skipped without sets.

        Returns those that are queued.
        """
        ...

    def note_fields(self, fields: Mapping[int, Fields]) -> None:
        """Overwrites the fields of nodes, by id, and nothing else of them."""
        ...

    def remove(self, node_ids: Sequence[int]) -> None:
        """Deletes nodes; their chunks become tombstones."""
        ...

    def claim(self, node_id: int, *, lease_s: float) -> Claim | None:
        """Takes a node that is due or whose lease has run out; None when there is none."""
        ...

    def claim_many(
        self, node_ids: Sequence[int], *, max_chars: int, max_attempts: int, lease_s: float
    ) -> list[Claim]:
        """Takes those nodes that may be claimed, by id.

        Left out are longer ones, those that were claimed ``max_attempts`` times in vain, and those
        whose text only their chunks hold.
        """
        ...

    def char_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        """Returns how long the strings are, by id of their nodes."""
        ...

    def unfinished(self, node_ids: Sequence[int]) -> list[int]:
        """Returns those that are queued or claimed, by id."""
        ...

    def due_in(self, node_id: int) -> float | None:
        """Returns in how many seconds a queued node may be claimed; None when it is not queued."""
        ...

    def hold(
        self, claims: Sequence[Claim], *, lease_s: float, progressed: bool = False
    ) -> list[Claim]:
        """Locks the claimed nodes, renews their leases, and returns the claims that still hold.

        A lease of which more than ``FRESH`` is left stays as it is. Progress resets the count of
        attempts.
        """
        ...

    def release(
        self,
        claims: Sequence[Claim],
        *,
        retry_in_s: float,
        error: Mapping[str, object] | None,
        progressed: bool,
    ) -> list[Claim]:
        """Gives claimed nodes back as queued, and returns the claims that held until then."""
        ...

    def quarantine(self, claim: Claim, error: Mapping[str, object]) -> None:
        """Takes a node out of work for good, its active chunks untouched.

        Raises LeaseLostError.
        """
        ...

    def skip(self, claim: Claim, reason: Mapping[str, object]) -> None:
        """Takes a node out of work over a limit; its text is kept, its active chunks untouched.

        Raises LeaseLostError.
        """
        ...

    def requeue_quarantined(self, *, limit: int, among: NodeSelection | None = None) -> list[int]:
        """Queues quarantined nodes again, their attempts forgotten; returns their ids.

        ``among`` None: of all projects.
        """
        ...

    def count_quarantined(self, among: NodeSelection) -> int:
        """Returns how many nodes of a selection are in quarantine."""
        ...

    def abandoned(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns nodes whose lease or due time passed ``silent_s`` ago, each once in that time.

        Only of generations that follow their document: other nodes cannot be claimed. A queued node
        is waiting and not abandoned, while the order book holds an order for nodes of its project
        that is not younger and does not rest: this order may be for it.
        """
        ...


class Chunks(Protocol):
    """Chunk sets and chunk rows."""

    def begin_sets(self, planned: Sequence[tuple[Claim, Sequence[PlannedChunk]]]) -> list[ChunkSet]:
        """Finds or inserts the unfinished sets of claimed contents, rows first, vectors later.

        Chunks of a node's active set whose vector rows are wanted again are kept: they get no new
        row. Unfinished sets of the nodes for other contents are deleted. Positions of argument and
        result correspond.
        """
        ...

    def embedded(
        self, claims: Sequence[Claim], input_hashes: Sequence[bytes]
    ) -> list[EmbeddedChunk]:
        """Returns chunks of the claimed nodes' tables that turbopuffer has, one per input."""
        ...

    def mark_present(self, chunk_ids: Sequence[int]) -> None:
        """Notes that turbopuffer acknowledged these chunks, all windows.

        Those of a set come in the order of the set: what stands before them in an unfinished one
        counts as acknowledged, too.
        """
        ...

    def activate(
        self, sets: Sequence[tuple[Claim, ChunkSet]], acknowledged: Collection[int] = ()
    ) -> set[int]:
        """Makes complete sets the active ones of their nodes, and deletes those before.

        ``acknowledged``: chunks that turbopuffer has, and that nobody has noted as present. What a
        set keeps moves into it.
        Returns the nodes that have swapped. One that wants another content by now is left as it is.
        """
        ...

    def without_row(self, namespace: str, doc_ids: Sequence[str]) -> list[str]:
        """Returns those ids that no chunk row and no tombstone of the namespace knows."""
        ...


class NodeCounts(Protocol):
    """Counts of nodes, by state and scope. ``silent_s`` is for how long silence is fine."""

    def status(self, index: Index, *, silent_s: float) -> IndexStatus:
        """Returns the derived status of an index; cheap, it reads unfinished nodes only."""
        ...

    def progress(self, index: Index, scope: str, *, silent_s: float) -> Progress:
        """Returns the counters of a scope."""
        ...

    def progress_of(
        self, index: Index, scopes: Sequence[str], *, silent_s: float
    ) -> dict[str, Progress]:
        """Returns the counters of several scopes, from one pass over the nodes."""
        ...

    def has_any(self, index: Index, scope: str) -> bool:
        """Says whether the active generation has chunks in a scope, or may get some.

        Skipped nodes and blank ones (indexed without a chunk) do not count.
        """
        ...

    def in_scope(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        """Returns nodes of a scope, by pointer."""
        ...

    def not_indexed(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        """Returns nodes of a scope that are not indexed; first those that nobody will take up."""
        ...


PLACE_CHARS = 200
"""Characters of a pointer by which strings are ordered; pointers are too long for an index."""


@dataclass(frozen=True, slots=True)
class LargeString:
    """A string of an index: how far it is, and of which text its chunks are.

    ``chunks_hash``: sha256 of the text that they were cut from; None: there are none. They are
    ``active`` when searches read them.
    """

    id: int
    progress: NodeProgress
    content_hash: str
    changed_at: datetime
    indexed_at: datetime | None
    set_id: int | None = None
    chunks_hash: str | None = None
    is_active: bool = False


@dataclass(frozen=True, slots=True)
class StringPlace:
    """Where a page of strings goes on: behind this one, by the beginning of its pointer."""

    pointer: str
    id: int

    @classmethod
    def of(cls, string: LargeString) -> StringPlace:
        """Returns where a page ends that ends with a string."""
        return cls(string.progress.json_pointer[:PLACE_CHARS], string.id)


@dataclass(frozen=True, slots=True)
class StringPage:
    """Strings by pointer, and where to go on when there are more to look at."""

    rows: Sequence[LargeString]
    next_after: StringPlace | None


@dataclass(frozen=True, slots=True)
class StringsBelow:
    """How many strings of an index lie at a place or below it, and how many nobody takes up."""

    large: int
    problems: int


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A chunk by its place in the string, in code points.

    ``is_present``: turbopuffer has it, in ``windows`` rows.
    """

    index: int
    start: int
    end: int
    is_present: bool
    windows: int


class LargeStrings(Protocol):
    """The strings of an index one by one, for people. Each method costs what it returns."""

    def page(
        self,
        index: Index,
        scope: Scope,
        *,
        state: NodeState | None,
        after: StringPlace | None,
        limit: int,
        among: int,
    ) -> StringPage:
        """Returns strings of a scope by pointer, at most ``limit``, of those of one state if so.

        Of ``among`` that it looks at; so a page may be short, or empty, while there is more.
        """
        ...

    def at(self, index: Index, table_id: int, pointers: Sequence[str]) -> dict[str, LargeString]:
        """Returns those strings of a table that stand at exactly these pointers."""
        ...

    def below(
        self, index: Index, table_id: int, pointers: Sequence[str], *, most: int
    ) -> list[StringsBelow]:
        """Returns the counts at each pointer and below it, as far as ``most``."""
        ...

    def spans(self, set_id: int, *, first: int, limit: int) -> list[ChunkSpan]:
        """Returns chunks of a set from index ``first`` on."""
        ...

    def first_behind(self, set_id: int, chunks_count: int, char: int) -> int:
        """Returns the index of the first chunk that ends behind a character.

        Where there is none, how many chunks there are.
        """
        ...


class Indexes(Protocol):
    """Indexes, seen through one of their generations."""

    def find_or_add(self, *, project_id: int, table_id: int, config: IndexConfig) -> Index:
        """Returns the table's index of that configuration, created with its first generation.

        An index that is being rebuilt to that configuration is the one.
        """
        ...

    def find(self, index_id: int) -> Index | None:
        """Returns an index, seen through its active generation."""
        ...

    def page(self, *, after: int, limit: int) -> list[Index]:
        """Returns indexes of all projects that are there with ids above ``after``, ascending."""
        ...

    def of_project(self, project_id: int) -> Index | None:
        """Returns the index over all tables of a project, if it has one."""
        ...

    def add_to_project(self, project_id: int, config: IndexConfig) -> Index:
        """Creates the index over all tables. The caller holds the project's lock and asked first.

        Whoever adds a table later orders its comparison; the caller orders that of the others.
        """
        ...

    def lock(self, index: Index) -> bool:
        """Keeps an index from being compared, switched or given up by another transaction.

        False when the index, or its table, is gone.
        """
        ...

    def share(self, index: Index) -> None:
        """Keeps an index from being switched or given up; the caller holds one table's lock."""
        ...

    def name_fields(self, index_id: int, names: Sequence[str]) -> None:
        """Says which fields an index keeps with its strings; new ones have it compared again."""
        ...

    def live(self, index_id: int) -> list[Index]:
        """Returns an index through every generation that follows its document: active, building."""
        ...

    def with_unsettled_tools(self, *, limit: int) -> list[int]:
        """Returns indexes with a tool whose written summary does not say ``ready``.

        Of an evicted index it has to say ``evicted``. Those that were not returned for the
        longest time come first, so that none has to wait for ever.
        """
        ...

    def retire(self, index_id: int) -> None:
        """Removes an index; its generation waits for ``cleanup`` to delete the namespace."""
        ...


class Comparisons(Protocol):
    """What an index was compared with: the scopes that tools need of it, and tables' revisions."""

    def cover(self, index_id: int, *, tool_id: int, scope: str) -> None:
        """Notes that a tool needs a scope of an index.

        The index has to be compared again, unless it was compared for a scope that contains it.
        """
        ...

    def uncover(self, tool_id: int) -> None:
        """Forgets what a tool needed; strings that no other tool needs have to go."""
        ...

    def scopes(self, index_id: int) -> list[str]:
        """Returns the distinct scopes that live tools need; of a project's index the root."""
        ...

    def may_be_needed(self, index_id: int) -> bool:
        """Tells whether a tool needs the index, or may again: one in its owner's trash.

        A project's index is needed until it is switched off.
        """
        ...

    def note_compared(
        self, index: Index, table_id: int, revision: int, scopes: Sequence[str]
    ) -> None:
        """Notes which revision of a table, and which scopes, the nodes of a generation are of.

        Their fields are those that the index names.
        Why the table was refused is forgotten, and so is a failure that ``note_failed`` noted.
        """
        ...

    def follows(self, index_id: int, table_id: int | None = None) -> bool:
        """Tells whether each live generation follows a table, or all, in one small statement.

        Then the failure that ``note_failed`` noted is over, and forgotten.
        """
        ...

    def uncompared(self, index_id: int) -> list[int]:
        """Returns the live tables of an index that a live generation does not follow by now.

        It follows one when it was compared with its revision, for what live tools need of it and
        for nothing else. Whoever deletes a tool, by whatever way, need not say so.
        """
        ...

    def is_compared(self, index: Index) -> bool:
        """Tells whether a generation was compared with its tables as they are now."""
        ...

    def behind(self, *, silent_s: float, limit: int) -> list[tuple[int, int]]:
        """Returns pairs of index and table that nobody compared for ``silent_s``.

        The time counts from the last change, order or take. Each pair is taken once in that time.
        Left out are evicted indexes, deleted tables, and pairs that the order book has an order
        for.
        """
        ...

    def note_failed(self, index_id: int, error: Mapping[str, object]) -> None:
        """Notes why an order to compare an index failed, until one succeeds; adds ``at``.

        Not for an index that follows all of its tables by now.
        """
        ...

    def note_refused(self, index_id: int, table_id: int, error: Mapping[str, object]) -> None:
        """Notes why the document of a table cannot be indexed as it is; adds ``at``.

        Each table has a reason of its own, until it is compared again or is gone.
        """
        ...


@dataclass(frozen=True, slots=True)
class Section:
    """Members of the object at ``pointer``, or elements of the array there from ``first`` on.

    ``text``: JSON of them, as an object or an array. Each value of a document is in one section,
    or is an object or array that is made of several.
    ``digest``: sha256 of all of it. No two sections of a document have the same.
    """

    pointer: str
    first: int
    text: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class ComparedSection:
    """What a generation has of a section.

    ``keys``: of each of its nodes the first ``KEY_BYTES`` of ``pointer_sha256``, one after the
    other. ``pointer_chars``: the length of their pointers, one for each chunk.
    """

    digest: bytes
    keys: bytes
    pointer_chars: int


@dataclass(frozen=True, slots=True)
class SectionChanges:
    """What a document is made of that a generation was not compared with, and what is gone.

    ``basis``: which comparison this follows, see ``Sections.basis``; None: all sections are new.
    ``kept_pointer_chars``: the sum of the sections that stay.
    """

    revision: int
    scopes: Sequence[str]
    basis: bytes | None
    new: Sequence[Section]
    gone: Sequence[ComparedSection]
    kept_pointer_chars: int


class Sections(Protocol):
    """Large documents in sections, and which of them a generation was compared with.

    How a document is cut is the store's own: a document that is equal is cut equally.
    """

    def small(self, table_id: int) -> tuple[int, str] | None:
        """Returns revision and JSON text of a document that is too small for sections."""
        ...

    def basis(self, index: Index, table_id: int, scopes: Sequence[str]) -> bytes | None:
        """Returns the digest of what is kept of a generation's last comparison.

        None where the nodes are not of these sections and scopes: somebody has compared without
        them, the document was refused, or rows of nodes or sections are gone.
        """
        ...

    def changes(self, index: Index, table_id: int, scopes: Sequence[str]) -> SectionChanges | None:
        """Returns which sections of a document differ from the basis of a generation.

        None when the table is gone, or nobody may write its numbers out (``Tables.read``).
        """
        ...

    def note_compared(
        self, index: Index, table_id: int, changes: SectionChanges, new: Sequence[ComparedSection]
    ) -> None:
        """Keeps what a generation has of the new sections, after ``Comparisons.note_compared``."""
        ...


@dataclass(frozen=True, slots=True)
class Size:
    """How much an index holds; ``bytes`` are of the chunks' text in UTF-8.

    Of a large index ``characters`` and ``bytes`` are estimated, by the texts of 5,000 chunks.
    """

    nodes: int
    chunks: int
    characters: int
    bytes: int


@dataclass(frozen=True, slots=True)
class UnderWay:
    """How many generations are being built, and how many wait until their project has room."""

    building: int
    queued: int


class Rebuilds(Protocol):
    """What happens to generations. The caller holds the index' lock."""

    def start(self, index: Index, config: IndexConfig, *, at_once: int) -> Index:
        """Adds a generation; ``queued`` when the project builds ``at_once`` others already."""
        ...

    def pending(self, index_id: int) -> Index | None:
        """Returns the generation that is being built or waits to be."""
        ...

    def previous(self, index_id: int) -> Index | None:
        """Returns the generation that answered before the last switch, while it is kept."""
        ...

    def has_index(self, table_id: int | None, config: IndexConfig) -> bool:
        """Tells whether the table has an index whose active generation has this configuration.

        False without a table: a project has one index at most.
        """
        ...

    def is_unfinished(self, index: Index) -> bool:
        """Tells whether a generation lacks a node: one that waits, or has failed for good."""
        ...

    def switch(self, to: Index) -> None:
        """Makes a generation the active one, and the one before it the previous one.

        An earlier one that comes back has to be compared with the document again.
        """
        ...

    def promote(self, *, at_once: int) -> list[int]:
        """Lets queued generations begin where the project has room; returns their indexes."""
        ...

    def under_way(self) -> UnderWay:
        """Returns how many generations of all projects are not finished."""
        ...

    def building(self, *, limit: int) -> list[int]:
        """Returns indexes with a generation that is being built."""
        ...

    def outdated(self, *, older_than_s: float, limit: int) -> list[Index]:
        """Returns generations that were switched away from that long ago, the oldest first."""
        ...

    def retire_previous(self, index_id: int, *, older_than_s: float) -> bool:
        """Retires the generation of an index that was switched away from that long ago, if any."""
        ...

    def size(self, index: Index) -> Size:
        """Returns what a generation holds."""
        ...


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A searchable chunk: its text, its place, and what turbopuffer calls its vectors."""

    text: str
    table_id: int
    json_pointer: str
    index: int
    doc_id: str
    window_count: int


class Calibrations(Protocol):
    """What generations were found to be worth, and what that takes.

    What was found is read with the index, in ``Generation.calibration``.
    """

    def chunks(self, index: Index) -> int:
        """Returns how many chunks a generation holds, those on the way included; cheap."""
        ...

    def sample(self, index: Index, *, limit: int) -> list[SampledRow]:
        """Returns up to ``limit`` chunks of active sets, chosen and ordered by the hash of what
        was embedded: the same ones for equal content. Each text once.
        """
        ...

    def note(self, index: Index, found: IndexCalibration) -> bool:
        """Stores what was found; False when the generation does not answer any more."""
        ...

    def asked(self, model: str, dimensions: int, questions: bytes) -> list[Sequence[float]]:
        """Returns the vectors that were kept for a model; none when none are.

        ``questions`` is a hash that stands for the list of questions, and for how it was embedded.
        """
        ...

    def keep_asked(
        self, model: str, dimensions: int, questions: bytes, vectors: Sequence[Sequence[float]]
    ) -> None:
        """Keeps the vectors of questions, in f32; those of another list for the model go."""
        ...


class Quotas(Protocol):
    """What counts is every chunk row of generations that are not retired.

    An index is cold when it was neither searched nor created in the last ``idle_s`` seconds.
    """

    def used(self, project_id: int) -> Usage:
        """Returns what a project holds."""
        ...

    def room(self, index_id: int, limits: ProjectLimits) -> Usage:
        """Returns what an index may still take; below zero when the project is over its limit.

        What the project would give up for it counts as free: earlier generations, and indexes
        that are cold and were not searched since this one was.
        """
        ...

    def new_among(self, claims: Sequence[Claim]) -> list[Claim]:
        """Returns the claims that the limit applies to: new nodes of an answering generation.

        A new node has no chunks. A rebuild and a new version of a text are not limited, so that
        what is searchable stays searchable.
        """
        ...

    def readmit(self, limits: ProjectLimits, *, limit: int) -> list[int]:
        """Queues nodes that were skipped as PROJECT_FULL where there is room now.

        At most ``limit`` of the most recently searched index of each project; returns their ids.
        """
        ...

    def compact(self) -> None:
        """Keeps counting cheap."""
        ...

    def count_parts(self) -> bool:
        """Has parts of indexes counted apart, a step at a time, each first in its transaction.

        Returns whether another step can follow at once.
        """
        ...


class Evictions(Protocol):
    """Indexes that give way, and their return."""

    def next_to_go(self, limits: ProjectLimits) -> Index | None:
        """Returns the generation that a project over its limit gives up next.

        A previous generation goes first, then a generation of its coldest index: the active one, or
        the one being built, if that holds chunks and the active one holds none.
        """
        ...

    def give_up(self, going: Index, limits: ProjectLimits) -> bool:
        """Retires a previous generation, or evicts an index; False when it is searched again.

        An evicted index keeps an empty active generation. The caller holds the index' lock.
        """
        ...

    def clear(self, index: Index) -> bool:
        """Evicts an index because an operator wants it, whether it is cold or not.

        False when it was evicted already. The caller holds the table's lock.
        """
        ...

    def revive(self, index_id: int) -> bool:
        """Makes an evicted index an ordinary one, which is empty; False when it was not evicted."""
        ...

    def note_search(self, index_id: int) -> None:
        """Notes that an index was searched, at most once a minute."""
        ...


class Outbox(Protocol):
    """Orders by project. One waits, is in the queue, is begun by a worker, may rest, and is done.

    In the queue, a project has at most ``window`` orders that do not rest, and as many that do;
    of those for strings of a million characters or more, a quarter of that (``long_window``).
    """

    def add(self, messages: Iterable[Message]) -> list[int]:
        """Stores orders and returns the projects that they are of, ascending.

        An equal order that nobody has begun is enough, and nobody begins it before the
        transaction ends. A project that cannot be told is 0.
        """
        ...

    def withdraw(self, order: Order) -> None:
        """Forgets an order that nobody has begun: the caller carries it out."""
        ...

    def take(self, project_id: int, *, window: int) -> list[tuple[int, Message]]:
        """Returns the oldest waiting orders of a project, as many as its window has room for.

        They are the caller's to send: others leave them alone for a minute. Where more orders for
        small strings wait than ``window``, some go along in the message of one that is taken for
        the first time (``shared_messages``): its order is for all of them then, and theirs are
        forgotten.
        """
        ...

    def note_sent(self, order_ids: Sequence[int]) -> None:
        """Notes that the queue took them."""
        ...

    def begin(self, order_id: int) -> int | None:
        """Notes that a worker has an order. An equal one that comes now is a new order.

        Waits for transactions that have added to it. Returns its project; None when it is done.
        """
        ...

    def finish(self, order_id: int) -> None:
        """Forgets an order that is done."""
        ...

    def rest(self, order_id: int, *, after_s: float, window: int) -> bool:
        """Lets a begun order rest.

        True: its message rests in the queue. False: the order waits in the book, because an equal
        one is waiting or too many of the project rest.
        """
        ...

    def silent(self, *, silent_s: float) -> list[int]:
        """Returns orders that were last sent, begun or due ``silent_s`` ago."""
        ...

    def reopen(self, order_ids: Sequence[int], *, silent_s: float) -> int:
        """Puts orders that are still silent back to waiting and returns how many.

        One that was lost before rests first: ``silent_s``, doubled each time, at most a day.
        """
        ...

    def restore(self, order_ids: Sequence[int]) -> list[int]:
        """Puts these orders back to waiting, unless they are done, and returns their projects.

        How often they were lost is forgotten.
        """
        ...

    def waiting(self, *, limit: int) -> list[int]:
        """Returns projects with orders that wait to be sent, in no order."""
        ...

    def has_neighbours(self, table_id: int) -> bool:
        """Tells whether orders of other projects than a table's wait for a worker."""
        ...
