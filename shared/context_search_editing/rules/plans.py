"""Plans: what a request to replace would change, and what became of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Literal

from context_search.core.errors import ReplaceStaleError
from context_search.core.json_pointer import contains
from context_search.core.json_text import to_json
from context_search_editing.rules.edits import Edit, LeftOut
from context_search_editing.rules.replacing import RULES_VERSION, ReplaceRequest

PlanState = Literal[
    "previewing", "ready", "executing", "done", "partial", "failed", "cancelled", "expired"
]
EXPIRED: PlanState = "expired"
"""What a plan becomes that is previewed or ready when its time is over."""
PlannedTableState = Literal["pending", "done", "skipped"]
SkipReason = Literal[
    "CHANGED",
    "MOVED",
    "GONE",
    "MATCHES_DIFFER",
    "OUT_OF_REACH",
    "SNAPSHOT_FAILED",
    "TOO_LARGE",
    "PROJECT_FULL",
    "ATTEMPTS_EXHAUSTED",
]
"""Why a document, or one string of it, was not changed."""
KeptReason = Literal["EDITED_SINCE"]
"""Why an undo left a place as it is."""
OnConflict = Literal["abort", "skip"]
"""What happens when a string is not as it was shown: nothing is written, or its document stays."""
Warning = Literal[  # noqa: A001 - the word of the API
    "DELETES_TEXT",
    "MATCHES_AGAIN",
    "BREAKS_JSON",
    "LOOKS_SENSITIVE",
    "ASCII_CLASSES",
    "EMPTY_MATCHES",
    "HIDDEN_CHARACTERS",
]

MAX_PLANNED_TABLES = 10_000
MAX_PLANNED_STRINGS = 20_000
MAX_SCOPE_TABLES = 1_000
"""Maximum number of tables that a request may name."""
MAX_ATOMIC_TABLES = 100
MAX_ATOMIC_BYTES = 20_000_000
"""Plans within both limits are executed in one transaction, the others a document at a time."""
MAX_PREVIEWED_BYTES = 50_000_000
"""Maximum bytes of documents that a request looks through; the rest is left to the queue."""
MAX_CHOSEN = 10_000
"""Maximum number of matches that a choice names."""
MAX_OPEN_PLANS = 20
"""Maximum number of plans of a project that are not executed, cancelled or expired."""
MAX_PREVIEWS = 2
"""Maximum number of plans of a project that are ``previewing``."""
MIN_LIFETIME_S, DEFAULT_LIFETIME_S, MAX_LIFETIME_S = 60, 3_600, 86_400
"""For how many seconds a plan may be executed after it was asked for."""
TEXTS_OUTLIVE_S = 3_600
"""For how many seconds the texts of a plan stay that was not executed in its time."""
PLAN_KEPT_S = 365 * 86_400
"""For how many seconds a plan is kept, at last without its texts."""
MAX_RUNS = 3
"""So often a worker may stop without a word, in a preview or in one document."""
MEMORY_A_CHANGED_BYTE = 12
"""Bytes of memory that a change takes for each byte of a document: 8.3 were measured for a plan,
11.2 for a change of a part, with many small records.
"""

NOTHING_UNDONE = {
    "code": ReplaceStaleError.code,
    "message": "nothing could be undone: the plan can still be undone",
}
_NOTHING_LEFT_OUT = LeftOut()


@dataclass(frozen=True, slots=True)
class ReplaceScope:
    """Where a request looks: strings at ``json_pointer`` and below, in some tables or in all.

    ``table_ids`` None: every table of the project. ``places`` are pointers of single tables
    instead, in each of which the strings at and below are meant: the scopes of an agent's Search
    Tools, or with ``tool_id`` of the one that it named. What the tools hide there is not meant.
    """

    table_ids: tuple[int, ...] | None = None
    json_pointer: str = ""
    places: tuple[tuple[int, str], ...] | None = None
    tool_id: int | None = None

    def pointers_in(self, table_id: int) -> tuple[str, ...]:
        """Returns the places of a table that are meant; none is the table itself."""
        if self.places is not None:
            return tuple(pointer for table, pointer in self.places if table == table_id)
        if self.table_ids is not None and table_id not in self.table_ids:
            return ()
        return (self.json_pointer,)

    def contains(self, table_id: int, json_pointer: str) -> bool:
        """Says whether a string of a table is meant."""
        return any(contains(place, json_pointer) for place in self.pointers_in(table_id))

    @property
    def named_tables(self) -> tuple[int, ...] | None:
        """The tables that it names, ascending; None: all of the project are meant."""
        if self.places is not None:
            return tuple(sorted({table for table, _ in self.places}))
        return None if self.table_ids is None else tuple(sorted(set(self.table_ids)))


@dataclass(frozen=True, slots=True)
class NewPlan:
    """A plan before it is stored: of a request to replace, or (``undoes``) of an undo.

    ``request`` None: it is an undo. ``mcp_id``: the MCP instance whose agent asked.
    ``request_hmac`` stands for the texts when they are forgotten. ``engine`` names the engine of
    regular expressions; ``""`` for literals.
    """

    project_id: int
    request: ReplaceRequest | None
    scope: ReplaceScope
    request_hmac: bytes
    engine: str
    lifetime_s: float
    actor: str | None
    mcp_id: int | None = None
    undoes: int | None = None
    request_id: str | None = None

    @property
    def state(self) -> PlanState:
        """Its first state: an undo needs no preview."""
        return "previewing" if self.undoes is None else "ready"


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """What a preview has found so far.

    ``scanned_bytes`` are those of all documents that were read, ``planned_bytes`` those of the
    documents with matches. ``growth``: by how many characters strings become longer.
    """

    tables: int = 0
    strings: int = 0
    matches: int = 0
    growth: int = 0
    scanned_tables: int = 0
    scanned_bytes: int = 0
    planned_bytes: int = 0
    left_out: LeftOut = _NOTHING_LEFT_OUT
    warnings: tuple[Warning, ...] = ()

    @property
    def is_atomic(self) -> bool:
        """Whether the plan is executed in one transaction, all of it or nothing."""
        return self.tables <= MAX_ATOMIC_TABLES and self.planned_bytes <= MAX_ATOMIC_BYTES


_NOTHING_COUNTED = PlanCounts()


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the shown matches are executed: all but ``leave``, or ``only`` those.

    Numbers of matches, from 1. ``leave_tables``: nothing in these tables.
    """

    leave: frozenset[int] = frozenset()
    only: frozenset[int] | None = None
    leave_tables: frozenset[int] = frozenset()
    on_conflict: OnConflict = "abort"

    def takes(self, table_id: int, match: int) -> bool:
        """Says whether a match is to be executed."""
        if table_id in self.leave_tables or match in self.leave:
            return False
        return self.only is None or match in self.only


@dataclass(frozen=True, slots=True)
class Plan:
    """A stored plan and how far it has come.

    ``request`` None: an undo, or its texts are forgotten. ``after_table``: the preview has looked
    at the tables up to that one. ``digest`` (16 bytes) is there once the plan is ``ready``.
    ``choice`` and ``executed_by`` are there once it was executed. ``runs`` counts the previews by
    a worker that began and have not ended. ``last_error`` is ``{code, message}``. ``undone_by``:
    the plan that undid this one. ``request_id``: the request that asked for it, then the one that
    executed it.
    """

    id: int
    project_id: int
    state: PlanState
    request: ReplaceRequest | None
    scope: ReplaceScope
    request_hmac: bytes = field(repr=False)
    engine: str
    created_at: datetime
    expires_at: datetime
    mcp_id: int | None = None
    undoes: int | None = None
    undone_by: int | None = None
    after_table: int = 0
    digest: bytes | None = None
    counts: PlanCounts = _NOTHING_COUNTED
    choice: Choice | None = None
    previewed_by: str | None = None
    executed_by: str | None = None
    executed_at: datetime | None = None
    undo_until: datetime | None = None
    request_id: str | None = None
    runs: int = 0
    last_error: Mapping[str, str] | None = None

    # ---- Its states: every change of one is here.

    def ready(self, digest: bytes) -> Plan:
        """Returns a plan whose preview has looked at all documents."""
        return replace(self, state="ready", digest=digest, runs=0)

    def begun(
        self,
        choice: Choice,
        actor: str | None,
        *,
        now: datetime,
        undo_until: datetime,
        request_id: str | None = None,
    ) -> Plan:
        """Returns a plan that is executed now, from its first document on."""
        return replace(
            self,
            state="executing",
            choice=choice,
            executed_by=actor,
            executed_at=now,
            undo_until=undo_until,
            request_id=request_id or self.request_id,
            after_table=0,
        )

    def ended(self, *, is_whole: bool, is_begun: bool) -> Plan:
        """Returns a plan all of whose documents are done or skipped.

        ``is_whole``: no place was left out; ``is_begun``: some were not. An undo that wrote nothing
        has failed, so the plan that it names can still be undone.
        """
        if self.undoes is not None and not is_whole and not is_begun:
            return replace(self, state="failed", last_error=self.last_error or NOTHING_UNDONE)
        if self.last_error is not None and not is_begun:
            return replace(self, state="failed")
        return replace(self, state="done" if is_whole else "partial")

    def failed(self, code: str, message: str) -> Plan:
        """Returns a plan that cannot go on, and that has changed nothing."""
        return replace(self, state="failed", runs=0, last_error={"code": code, "message": message})

    def cancelled(self) -> Plan:
        """Returns the plan as given up by a caller."""
        return replace(self, state="cancelled", runs=0)

    def as_of(self, now: datetime) -> Plan:
        """Returns the plan, expired if it was not executed in its time."""
        is_over = self.state in ("previewing", "ready") and self.expires_at <= now
        return replace(self, state=EXPIRED) if is_over else self

    @property
    def bounded_by(self) -> int | None:
        """The MCP instance whose tools bound what the execution changes; None: a person's."""
        is_agents = self.scope.places is not None and self.executed_by == f"mcp:{self.mcp_id}"
        return self.mcp_id if is_agents else None


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """One document of a plan.

    ``revision_seen`` is what the preview looked at. ``matches`` were shown, ``replaced`` executed
    and ``kept`` left alone by an undo. ``runs`` counts workers who began it and have not ended.
    """

    table_id: int
    revision_seen: int
    matches: int
    bytes: int
    state: PlannedTableState = "pending"
    reason: SkipReason | None = None
    revision_before: int | None = None
    revision_after: int | None = None
    replaced: int = 0
    kept: int = 0
    runs: int = 0


@dataclass(frozen=True, slots=True)
class PlannedString:
    """One string of a document of a plan; ``position`` counts those of the document from 0.

    ``first_match`` is the number of its first match in the plan, from 1. ``after_hash`` is the
    string's with all matches replaced. ``edits`` and ``final_hash`` say what was executed;
    ``is_only``: no other string of the document had that text then.
    """

    table_id: int
    position: int
    json_pointer: str
    first_match: int
    matches: int
    before_hash: bytes
    after_hash: bytes
    final_hash: bytes | None = None
    is_only: bool = False
    edits: tuple[Edit, ...] | None = None

    @property
    def last_match(self) -> int:
        """The number of its last match in the plan."""
        return self.first_match + self.matches - 1


def plan_digest(request: ReplaceRequest, engine: str, strings: Iterable[PlannedString]) -> bytes:
    """Returns 16 bytes that stand for all that a plan shows: the request, and every string before
    and after, in their order. Another release of the rules or of the engine has another digest.
    """
    hasher = hashlib.sha256(to_json([RULES_VERSION, engine, asdict(request)]).encode())
    for string in strings:
        row = [string.table_id, string.json_pointer, string.first_match, string.matches]
        hasher.update(to_json(row).encode() + string.before_hash + string.after_hash)
    return hasher.digest()[:16]


@dataclass(frozen=True, slots=True)
class OpenPlans:
    """How many plans of a project may still be executed, and how many previews are going on."""

    plans: int
    previews: int
