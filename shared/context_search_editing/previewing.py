"""Previews: which strings a request would change, as a plan that can be executed.

``PreviewReplacements`` makes a plan, ``ScanTables`` goes through its documents, and ``ShowMatches``
shows pages of what was found, computed again: plans hold no text of documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, count, groupby
from typing import Literal, Protocol

from context_search.access.lookup import live_tool
from context_search.budgets.shares import managing
from context_search.catalog.rules.tables import Part
from context_search.core.callers import McpKey, Principal
from context_search.core.documents import (
    FoundString,
    parse_fielded,
    parse_stored,
    strings_at,
)
from context_search.core.errors import (
    AttemptsExhaustedError,
    CommitUnknownError,
    ConflictError,
    ContextSearchError,
    DocumentTooLargeError,
    InvalidInputError,
    NotFoundError,
    PatternTooSlowError,
    PlanExpiredError,
    PlanNotReadyError,
    ReplaceBusyError,
    ReplaceStaleError,
    ReplaceTooLargeError,
    TooManyMatchesError,
)
from context_search.core.json_pointer import contains, split
from context_search.core.messages import ExecutePlan
from context_search.core.pages import PAGE, Page, page_of
from context_search.integrations.ports import Clock, Deadline
from context_search.store import Store, UnitOfWork
from context_search_editing.ports import CompiledPattern, Patterns
from context_search_editing.rules.batches import BATCH_CHARS
from context_search_editing.rules.edits import (
    ShownEdit,
    StringEdits,
    apply_edits,
    shown_edits,
    string_at,
    string_hash,
)
from context_search_editing.rules.plans import (
    DEFAULT_LIFETIME_S,
    MAX_LIFETIME_S,
    MAX_OPEN_PLANS,
    MAX_PLANNED_STRINGS,
    MAX_PLANNED_TABLES,
    MAX_PREVIEWED_BYTES,
    MAX_PREVIEWS,
    MAX_RUNS,
    MAX_SCOPE_TABLES,
    MIN_LIFETIME_S,
    NewPlan,
    Plan,
    PlanCounts,
    PlannedString,
    PlannedTable,
    ReplaceScope,
    plan_digest,
)
from context_search_editing.rules.replacing import (
    MAX_GROWTH_CHARS,
    MAX_MATCHES,
    NOTHING,
    Allowance,
    LiteralReplacer,
    PatternReplacer,
    ReplaceRequest,
    check_request,
)
from context_search_editing.rules.template import Template
from context_search_editing.rules.visible_strings import VisibleInDocument, VisibleStrings
from context_search_editing.rules.warnings import Warnings
from context_search_editing.write_documents import ChangedString, stale_message, visible_strings

MAX_SAMPLES = 200
MAX_MCP_MATCHES = 1_000
"""Maximum number of matches of a plan that an agent asks for."""
_BUSY_S = 1.0
_NOWHERE = ReplaceScope(places=())
Previewed = Literal["ready", "previewing", "failed", "nothing_to_do"]
MAX_POINTER_CHARS = 20_000
"""Maximum length of the pointer of a string that is changed: answers carry it."""
MAX_DOCUMENT_BYTES = 300_000_000
"""No document that comes in is longer; of one that is, this is not the place to die of it."""
_NOT_NOW = Part(0, 0, None, is_string=False)
_BATCH_STRINGS = 1 << 14
"""Maximum number of strings that are looked through together; each takes 0.1 kB meanwhile."""
REQUEST_TEXT_S = 5.0
"""For how long a request looks through one string for a pattern, in seconds."""
WORKER_TEXT_S = 30.0
"""For how long a worker does."""
MAX_MATCHES_SHOWN = 200
_PAGE_CHARS = 500_000
"""Of pointers and texts: an answer has 6 MB, and a character takes up to six bytes as JSON."""
_PAGE_S = 12.0
_STRINGS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class AskedReplacement:
    """A request to replace, and where.

    The project, narrowed to ``tables`` (at most 1,000), to what is at ``json_pointer`` and below,
    and to the scope of a Search Tool. Or ``places``: those of an MCP instance, or of one of its
    tools.
    ``samples``: how many matches are shown at once. ``mcp_id``: the instance of the agent.
    """

    request: ReplaceRequest
    tables: tuple[int, ...] | None = None
    json_pointer: str = ""
    tool_id: int | None = None
    places: tuple[tuple[int, str], ...] | None = None
    samples: int = 20
    lifetime_s: float = DEFAULT_LIFETIME_S
    mcp_id: int | None = None


@dataclass(frozen=True, slots=True)
class PlanPage(Page[Plan]):
    """Plans, and how many matches were replaced, by the ids of those that were executed."""

    replaced: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class ShownPlan:
    """A plan as it is shown: 100 of its tables, with the names of those that are there.

    ``replaced`` counts matches of all its tables. ``matches`` are samples, the first ones.
    ``tables_in_scope``: how many a preview looks through.
    """

    plan: Plan
    replaced: int
    tables: Page[PlannedTable]
    names: dict[int, str]
    tables_in_scope: int
    matches: Sequence[ShownMatch] = ()


@dataclass(frozen=True, slots=True)
class PreviewLimits:
    """What a preview may take in a request, and a worker at once: bytes, seconds.

    ``text_s``, ``queue_text_s``: for one string under a regular expression. Until
    ``queue_document_s`` a worker goes on with the document in hand. ``document_bytes``: of one
    document, whoever reads it.
    """

    bytes: int = MAX_PREVIEWED_BYTES
    request_s: float = 12.0
    text_s: float = REQUEST_TEXT_S
    queue_s: float = 45.0
    queue_document_s: float = 80.0
    queue_text_s: float = WORKER_TEXT_S
    mcp_matches: int = MAX_MCP_MATCHES
    document_bytes: int = MAX_DOCUMENT_BYTES


_LIMITS = PreviewLimits()


@dataclass(frozen=True, slots=True)
class PreviewReplacements:
    """Plans of the caller's project: made, looked at, cancelled. None of it changes a document.

    ``patient`` is the store with a time limit for large documents. ``hash_of`` is the keyed hash
    that stands for texts in logs. An agent reaches the plans of its MCP instance only.
    """

    store: Store
    patient: Store
    patterns: Patterns
    hash_of: Callable[[str], str]
    clock: Clock
    limits: PreviewLimits = _LIMITS

    def start(
        self, principal: Principal, asked: AskedReplacement, *, request_id: str | None = None
    ) -> ShownPlan:
        """Makes a plan, and looks through documents until it is ``ready`` or the time is up.

        Then it is ``previewing`` and the queue goes on. Raises InvalidInputError, NotFoundError for
        a table or a tool that is not the caller's, ReplaceBusyError,
        ManagementBackpressureError, and what
        ``Replacer.edits_in`` and ``replacer_of`` raise; the plan is ``failed`` then.
        """
        check_request(asked.request)
        _check(asked)
        deadline = Deadline(self.clock, self.clock.monotonic() + self.limits.request_s)
        with (
            managing(self.store, principal.project_id),
            replacer_of(
                asked.request, self.patterns, text_timeout_s=self.limits.text_s
            ) as replacer,
        ):
            plan = self._add(principal, asked, request_id)
            scan = ScanTables(
                self.store,
                replacer,
                deadline,
                deadline,
                plan,
                asked.request,
                self._max_matches(plan),
                self.limits.bytes,
                asked.samples,
            )
            try:
                scan.go_on()
            except OvertakenError:
                return self.read(principal, plan.id)
            except ContextSearchError as error:
                with suppress(ContextSearchError):
                    self._fail(plan, error)
                raise
        shown = self.read(principal, plan.id)
        matches = fitting(scan.shown, MAX_SAMPLES)
        return replace(shown, matches=matches) if shown.plan.state == "ready" else shown

    def run(self, plan_id: int) -> Previewed:
        """Goes on with a preview, for some time, in a worker. Raises what is worth another try."""
        try:
            plan = self._begin(plan_id)
            if plan is None or plan.request is None:
                return "nothing_to_do"
            return self._go_on(plan, plan.request)
        except OvertakenError:
            return "nothing_to_do"
        except CommitUnknownError:
            raise  # the row knows; the next run looks at it
        except ContextSearchError as error:
            if error.retryable:
                self._give_back(plan_id)
                raise
            with self.store.for_all("execute a plan") as work:
                failed = work.plans.lock(plan_id)
            return "nothing_to_do" if failed is None else self._fail(failed, error)

    def read(self, principal: Principal, plan_id: int, *, after: int = 0) -> ShownPlan:
        """Returns a plan with its documents that have higher ids, at most 100."""
        with self.store.for_project(principal.project_id) as work:
            plan = find_plan(work, principal, plan_id).as_of(self.clock.now())
            rows = work.plans.tables(plan.id, after=after, limit=PAGE + 1)
            tables = page_of(rows, lambda row: row.table_id)
            names = work.tables.names(plan.project_id, [row.table_id for row in tables.rows])
            replaced = _replaced(work, [plan]).get(plan.id, 0)
            return ShownPlan(plan, replaced, tables, names, _tables_in_scope(work, plan))

    def page(self, principal: Principal, *, below: int | None) -> PlanPage:
        """Returns plans with lower ids, the newest first, at most 100, fewer of long texts."""
        with self.store.for_project(principal.project_id) as work:
            rows = work.plans.page(principal.project_id, below=below, limit=PAGE + 1)
            page = _fitting(page_of(rows, lambda row: row.id))
            now = self.clock.now()
            visible = [plan.as_of(now) for plan in page.rows if is_visible(principal, plan)]
            replaced = _replaced(work, visible)
        return PlanPage(visible, page.next_after, replaced)

    def cancel(self, principal: Principal, plan_id: int) -> None:
        """Ends a plan that was not executed, and forgets what any plan found.

        What was executed cannot be undone then. Its undo and redo hold the same texts, which are
        forgotten with them. Raises ConflictError while one of them is being executed.
        """
        with self.store.for_project(principal.project_id) as work:
            for plan in locked_chain(work, find_plan(work, principal, plan_id)):
                if plan.state == "executing":
                    raise ConflictError("the plan is being executed")
                if plan.state in ("previewing", "ready"):
                    work.plans.save(plan.cancelled())
                work.plans.purge_texts(plan.id)

    def _add(self, principal: Principal, asked: AskedReplacement, request_id: str | None) -> Plan:
        request = asked.request
        hashes = self.hash_of(request.find) + self.hash_of(request.replace_with)
        with self.store.for_project(principal.project_id) as work:
            scope = _scope(work, principal, asked)
            there = work.plans.open(principal.project_id)
            if there.previews >= MAX_PREVIEWS:
                message = f"{MAX_PREVIEWS} previews of the project are going on"
                raise ReplaceBusyError(message, retry_after_s=_BUSY_S)
            if there.plans >= MAX_OPEN_PLANS:
                message = f"the project has {MAX_OPEN_PLANS} open plans: execute or cancel some"
                raise ReplaceBusyError(message, retry_after_s=MIN_LIFETIME_S)
            plan = work.plans.add(
                NewPlan(
                    project_id=principal.project_id,
                    request=request,
                    scope=scope,
                    request_hmac=bytes.fromhex(hashes),
                    engine=self.patterns.engine if request.regex else "",
                    lifetime_s=asked.lifetime_s,
                    actor=principal.actor,
                    mcp_id=asked.mcp_id,
                    request_id=request_id,
                )
            )
        if plan is None:  # only who undoes something can be too late
            raise ConflictError("the plan was not made")
        return plan

    def _max_matches(self, plan: Plan) -> int:
        return MAX_MATCHES if plan.mcp_id is None else self.limits.mcp_matches

    def _begin(self, plan_id: int) -> Plan | None:
        with self.store.for_all("execute a plan") as work:
            plan = work.plans.lock(plan_id)
            if plan is None or plan.state != "previewing":
                return None
            if plan.runs < MAX_RUNS:
                begun = replace(plan, runs=plan.runs + 1)
                work.plans.save(begun)
                return begun
        raise AttemptsExhaustedError(
            f"the preview was stopped {MAX_RUNS} times: a document does not fit into the memory"
            " or the time of a function"
        )

    def _go_on(self, plan: Plan, request: ReplaceRequest) -> Previewed:
        begun = self.clock.monotonic()
        deadline = Deadline(self.clock, begun + self.limits.queue_s)
        last_deadline = Deadline(self.clock, begun + self.limits.queue_document_s)
        with replacer_of(
            request, self.patterns, text_timeout_s=self.limits.queue_text_s
        ) as replacer:
            scan = ScanTables(
                self.patient,
                replacer,
                deadline,
                last_deadline,
                plan,
                request,
                self._max_matches(plan),
                document_bytes=self.limits.document_bytes,
            )
            return "ready" if scan.go_on().state == "ready" else "previewing"

    def _give_back(self, plan_id: int) -> None:
        """A run that failed for a reason was not stopped without a word."""
        with suppress(ContextSearchError), self.store.for_all("execute a plan") as work:
            plan = work.plans.lock(plan_id)
            if plan is not None and plan.state == "previewing":
                work.plans.save(replace(plan, runs=max(0, plan.runs - 1)))

    def _fail(self, plan: Plan, error: ContextSearchError) -> Previewed:
        """What Postgres says of a statement is for the log."""
        message = error.message if error.is_for_callers else "Postgres does not take this request"
        with self.store.for_project(plan.project_id) as work:
            locked = work.plans.lock(plan.id)
            if locked is None or locked.state != "previewing":
                return "nothing_to_do"
            work.plans.save(locked.failed(error.code, message))
        return "failed"


def _check(asked: AskedReplacement) -> None:
    if not MIN_LIFETIME_S <= asked.lifetime_s <= MAX_LIFETIME_S:
        raise InvalidInputError(
            f"a plan may be executed for {MIN_LIFETIME_S} to {MAX_LIFETIME_S} seconds"
        )
    if not 0 <= asked.samples <= MAX_SAMPLES:
        raise InvalidInputError(f"0 to {MAX_SAMPLES} matches are shown")
    if asked.tables is not None and not 1 <= len(asked.tables) <= MAX_SCOPE_TABLES:
        raise InvalidInputError(f"a request names 1 to {MAX_SCOPE_TABLES} tables")
    split(asked.json_pointer)


def _scope(work: UnitOfWork, principal: Principal, asked: AskedReplacement) -> ReplaceScope:
    if asked.places is not None:
        return ReplaceScope(places=asked.places, tool_id=asked.tool_id)
    if asked.tables is not None:
        wanted = set(asked.tables)
        if len(work.tables.names(principal.project_id, sorted(wanted))) < len(wanted):
            raise NotFoundError("there is no such table")
    if asked.tool_id is None:
        return ReplaceScope(asked.tables, asked.json_pointer)
    tool = live_tool(work, asked.tool_id, principal).scope
    if asked.tables is not None and tool.table_id not in asked.tables:
        return _NOWHERE
    if contains(asked.json_pointer, tool.json_pointer):
        return ReplaceScope((tool.table_id,), tool.json_pointer)
    if contains(tool.json_pointer, asked.json_pointer):
        return ReplaceScope((tool.table_id,), asked.json_pointer)
    return _NOWHERE


def _tables_in_scope(work: UnitOfWork, plan: Plan) -> int:
    named = plan.scope.named_tables
    return work.tables.count(plan.project_id) if named is None else len(named)


def _fitting(page: Page[Plan]) -> Page[Plan]:
    """Returns the first plans of a page, as many as have texts that fit into an answer."""
    chars = 0
    for number, plan in enumerate(page.rows):
        if plan.request is not None:
            chars += len(plan.request.find) + len(plan.request.replace_with)
        if number and chars > _PAGE_CHARS:
            return Page(page.rows[:number], page.rows[number - 1].id)
    return page


def _replaced(work: UnitOfWork, plans: Sequence[Plan]) -> Mapping[int, int]:
    """Returns how many matches were replaced, by plan: of those that somebody executed."""
    executed = [plan.id for plan in plans if plan.executed_by is not None]
    return work.plans.replaced(executed) if executed else {}


@dataclass(frozen=True, slots=True)
class ShownMatch:
    """A match as it is shown: its number in the plan, where it stands, what stands around it."""

    number: int
    table_id: int
    json_pointer: str
    edit: ShownEdit


class OvertakenError(Exception):
    """The plan is not previewed any more, or somebody else goes on with it."""


class OutOfTimeError(Exception):
    """There is no time left in the middle of a document."""


@dataclass(frozen=True, slots=True)
class _Timed:
    """``Replacer`` that stops behind a text when the time is up: patterns may be slow."""

    replacer: Replacer
    deadline: Deadline

    def edits_in(self, texts: Sequence[str], allowance: Allowance) -> Iterator[StringEdits]:
        for found in self.replacer.edits_in(texts, allowance):
            if not self.deadline.left_s():
                raise OutOfTimeError
            yield found


@dataclass(slots=True)
class ScanTables:
    """Goes on with the preview of a plan that is ``previewing``, from where it stands.

    One document is in memory at a time, and each is read in a transaction of its own. What it adds
    is committed together with the place to go on, by whoever was first: after a kill nothing is
    there twice. After ``deadline`` no document is begun, but for the first one of a worker, and
    after ``last_deadline`` the one in hand is given up. ``max_bytes`` are those of all documents
    that this one may read; None: it is a worker, who may read any with up to ``document_bytes``.
    ``shown`` are the first matches, as many as are ``wanted``. For an agent only those strings are
    looked through that its tools can return while the document is read, and that it may change.
    """

    store: Store
    replacer: Replacer
    deadline: Deadline
    last_deadline: Deadline
    plan: Plan
    request: ReplaceRequest
    max_matches: int
    max_bytes: int | None = None
    wanted: int = 0
    document_bytes: int = MAX_DOCUMENT_BYTES
    shown: list[ShownMatch] = field(default_factory=list)
    _warnings: Warnings = field(init=False)
    _read_bytes: int = 0
    _visible: VisibleStrings | None = None
    _scanned_before: int = field(init=False)
    _pieces: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._scanned_before = self.plan.counts.scanned_tables
        self._pieces = json_pieces(self.request)
        if self.request.regex:  # a literal is found in no time
            self.replacer = _Timed(self.replacer, self.last_deadline)
        self._warnings = Warnings(self.request, self._finds, set(self.plan.counts.warnings))

    def go_on(self) -> Plan:
        """Returns the plan: ``ready``, or ``previewing`` and left to the queue.

        Raises OvertakenError, and what the search for matches raises; what was stored before
        stays.
        """
        after, counts = self.plan.after_table, self.plan.counts
        for number, table_id in enumerate(self._tables()):
            part = self._read(table_id) if self._is_time_left(counts) else _NOT_NOW
            if part is not None and part.is_too_long:
                return self._save(after, counts, leave=True)
            strings: list[PlannedString] = []
            if part is not None:
                try:
                    strings, counts = self._look_at(table_id, part, counts)
                except OutOfTimeError:
                    self._check_first(counts)
                    return self._save(after, counts, leave=True)
            after = table_id
            if strings and part is not None:
                table = PlannedTable(
                    table_id, part.revision, sum(each.matches for each in strings), part.size
                )
                self._save(after, counts, table, strings)
            elif number % PAGE == PAGE - 1:
                self._save(after, counts)
        return self._finish(after, counts)

    def _is_time_left(self, counts: PlanCounts) -> bool:
        return self._is_first_of_worker(counts) or self.deadline.left_s() > 0

    def _is_first_of_worker(self, counts: PlanCounts) -> bool:
        return self.max_bytes is None and counts.scanned_tables == self._scanned_before

    def _check_first(self, counts: PlanCounts) -> None:
        """A worker with all his time for one document is not followed by another."""
        if self._is_first_of_worker(counts):
            raise PatternTooSlowError("the search for the pattern in one document took too long")

    def _tables(self) -> Iterator[int]:
        scope, project_id = self.plan.scope.named_tables, self.plan.project_id
        if scope is not None:
            yield from (table_id for table_id in scope if table_id > self.plan.after_table)
            return
        after: int | None = self.plan.after_table
        while after is not None:
            with self.store.for_project(project_id) as work:
                page = work.tables.ids(project_id, after=after, limit=PAGE)
            yield from page
            after = page[-1] if len(page) == PAGE else None

    def _read(self, table_id: int) -> Part | None:
        """None: the table is gone. Or its document is too large to be read here, or has no match.

        Only Postgres reads what has none: to send a text takes three times as long.
        """
        left = self.document_bytes
        if self.max_bytes is not None:
            left = max(0, self.max_bytes - self._read_bytes)
        with self.store.for_project(self.plan.project_id) as work:
            if work.tables.find(table_id, project_id=self.plan.project_id) is None:
                return None
            self._visible = self._visible_now(work)
            part = work.tables.part(table_id, [], max_bytes=left, holding=self._pieces)
        if part is None:
            return None
        if part.is_too_long and self.max_bytes is None:
            raise DocumentTooLargeError(f"a document has over {left} bytes: leave its table out")
        self._read_bytes += part.size
        return part

    def _visible_now(self, work: UnitOfWork) -> VisibleStrings | None:
        """None: the plan is a person's, who looks everywhere in its scope."""
        plan = self.plan
        if plan.mcp_id is None or plan.scope.places is None:
            return None
        return visible_strings(work, plan.project_id, plan.mcp_id, only=plan.scope.tool_id)

    def _look_at(
        self, table_id: int, part: Part, counts: PlanCounts
    ) -> tuple[list[PlannedString], PlanCounts]:
        """Returns the strings of a document that change, and the counts with them."""
        scanned = replace(
            counts,
            scanned_tables=counts.scanned_tables + 1,
            scanned_bytes=counts.scanned_bytes + part.size,
        )
        if part.text is None:
            return [], scanned
        strings: list[PlannedString] = []
        matches, growth, left_out = counts.matches, counts.growth, counts.left_out
        for found in self._edited(table_id, part.text, counts):
            left_out += found.edits.left_out
            string = self._planned(table_id, found, matches)
            if string is not None:
                strings.append(string)
                matches, growth = matches + string.matches, growth + found.edits.growth
                _check_strings(counts.strings + len(strings), string)
        self._warnings.look_at_results()
        if strings and counts.tables == MAX_PLANNED_TABLES:
            raise TooManyMatchesError(
                f"there are matches in over {MAX_PLANNED_TABLES:,} tables: narrow the scope"
            )
        return strings, replace(
            scanned,
            tables=counts.tables + bool(strings),
            strings=counts.strings + len(strings),
            matches=matches,
            growth=growth,
            planned_bytes=counts.planned_bytes + (part.size if strings else 0),
            left_out=left_out,
            warnings=self._warnings.in_order(),
        )

    def _edited(self, table_id: int, text: str, counts: PlanCounts) -> Iterator[EditedString]:
        allowance = Allowance(
            max(0, self.max_matches - counts.matches),
            MAX_GROWTH_CHARS - counts.growth,
            self.max_matches,
        )
        return edits_of_document(self._strings(table_id, text), self.replacer, allowance)

    def _strings(self, table_id: int, text: str) -> Iterator[FoundString]:
        """Yields the strings of a document that are looked through, each once."""
        pointers = self.plan.scope.pointers_in(table_id)
        if self._visible is None:
            self._warnings.look_at_text(text)
            yield from strings_at(parse_stored(text), pointers)
            return
        document = parse_fielded(text)
        visible = self._visible.in_document(table_id, document)
        for string in strings_at(document, pointers):
            if visible.may_change(string.json_pointer, string.text):
                self._warnings.look_at_text(string.text)
                yield string

    def _planned(self, table_id: int, found: EditedString, before: int) -> PlannedString | None:
        """Returns the row of a string with edits, after so many matches in others."""
        edits = found.edits.edits
        after = apply_edits(found.text, edits)
        self._warnings.look_at(found.text, after, found.edits)
        if not edits:
            return None
        pointer, wanted = found.json_pointer, self.wanted - len(self.shown)
        for number, edit in enumerate(shown_edits(found.text, edits[: max(0, wanted)]), before + 1):
            self.shown.append(ShownMatch(number, table_id, pointer, edit))
        return PlannedString(
            table_id=table_id,
            position=found.position,
            json_pointer=pointer,
            first_match=before + 1,
            matches=len(edits),
            before_hash=string_hash(found.text),
            after_hash=string_hash(after),
        )

    def _finds(self, texts: Sequence[str]) -> bool:
        try:
            found = [*self.replacer.edits_in(texts, Allowance())]
        except (TooManyMatchesError, ReplaceTooLargeError):
            return True
        return any(edits.edits for edits in found)

    def _save(
        self,
        after: int,
        counts: PlanCounts,
        table: PlannedTable | None = None,
        strings: Sequence[PlannedString] = (),
        *,
        leave: bool = False,
    ) -> Plan:
        """``leave``: the queue goes on."""
        with self.store.for_project(self.plan.project_id) as work:
            locked = self._locked(work)
            if table is not None:
                work.plans.add_tables(locked.id, [table], strings)
            # Who came this far was not stopped at the document that stopped the ones before.
            runs = 0 if leave else min(locked.runs, 1)
            saved = replace(locked, after_table=after, counts=counts, runs=runs)
            work.plans.save(saved)
            if leave:
                work.send(ExecutePlan(locked.id))
        self.plan = saved
        return saved

    def _finish(self, after: int, counts: PlanCounts) -> Plan:
        with self.store.for_project(self.plan.project_id) as work:
            locked = self._locked(work)
            digest = plan_digest(self.request, locked.engine, strings_of(work, locked.id))
            saved = replace(locked, after_table=after, counts=counts).ready(digest)
            work.plans.save(saved)
        self.plan = saved
        return saved

    def _locked(self, work: UnitOfWork) -> Plan:
        locked = work.plans.lock(self.plan.id)
        if (
            locked is None
            or locked.state != "previewing"
            or locked.after_table != self.plan.after_table
        ):
            raise OvertakenError
        return locked


def _check_strings(strings: int, last: PlannedString) -> None:
    if strings > MAX_PLANNED_STRINGS:
        raise TooManyMatchesError(
            f"there are matches in over {MAX_PLANNED_STRINGS:,} strings: narrow the scope"
        )
    if len(last.json_pointer) > MAX_POINTER_CHARS:
        raise ReplaceTooLargeError(
            f"a string with matches has a pointer of over {MAX_POINTER_CHARS} characters"
        )


class Replacer(Protocol):
    """Handles one request, string by string."""

    def edits_in(self, texts: Sequence[str], allowance: Allowance) -> Iterator[StringEdits]:
        """Yields what the request changes in each text, in their order.

        Raises TooManyMatchesError and ReplaceTooLargeError when ``allowance`` is not enough, and
        what ``CompiledPattern.matches`` raises.
        """
        ...


@contextmanager
def replacer_of(
    request: ReplaceRequest, patterns: Patterns, *, text_timeout_s: float
) -> Iterator[Replacer]:
    """Returns what carries out a request, inside of a ``with`` and in one thread.

    A pattern has ``text_timeout_s`` to be compiled, and for each text. Raises what
    ``Patterns.compiled`` raises, and ReplacementInvalidError.
    """
    if not request.regex:
        yield LiteralReplacer(request)
        return
    with patterns.compiled(
        request.find, case_sensitive=request.case_sensitive, timeout_s=text_timeout_s
    ) as pattern:
        template = Template.read(request.replace_with, groups=pattern.groups, names=pattern.names)
        replacer = PatternReplacer(request, template)
        yield _SearchedPattern(pattern, replacer, template.groups, text_timeout_s)


@dataclass(frozen=True, slots=True)
class _SearchedPattern:
    pattern: CompiledPattern
    replacer: PatternReplacer
    groups: Sequence[int]
    text_timeout_s: float

    def edits_in(self, texts: Sequence[str], allowance: Allowance) -> Iterator[StringEdits]:
        matches = self.pattern.matches(
            texts, groups=self.groups, text_timeout_s=self.text_timeout_s
        )
        return self.replacer.edits_in(texts, matches, allowance)


@dataclass(frozen=True, slots=True)
class EditedString:
    """A string of a document that has edits, or places that were left out.

    ``position`` counts the strings of the document that were looked through, from 0.
    """

    position: int
    json_pointer: str
    text: str
    edits: StringEdits


def edits_of_document(
    strings: Iterator[FoundString], replacer: Replacer, allowance: Allowance
) -> Iterator[EditedString]:
    """Yields those of a document's strings of which there is anything to say, in their order.

    Raises as ``Replacer`` does.
    """
    positions = count()
    for batch in _batches(strings):
        found = replacer.edits_in([string.text for string in batch], allowance)
        for edits, string, position in zip(found, batch, positions, strict=False):
            if edits is NOTHING or edits == NOTHING:
                continue
            allowance = allowance.less(edits)
            yield EditedString(position, string.json_pointer, string.text, edits)


def _batches(strings: Iterator[FoundString]) -> Iterator[list[FoundString]]:
    """Yields neighbours, so that not each string of a document is held for itself."""
    batch: list[FoundString] = []
    chars = 0
    for string in strings:
        batch.append(string)
        chars += len(string.text)
        if chars >= BATCH_CHARS or len(batch) == _BATCH_STRINGS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def json_pieces(request: ReplaceRequest) -> tuple[str, ...]:
    """Returns pieces of JSON text, of which every document with a match has one.

    As Postgres writes JSON: it and ``json.dumps`` escape the same characters in the same way, each
    by itself. Empty: the text of a document does not tell.
    """
    if request.regex or not request.case_sensitive:
        return ()
    forms = LiteralReplacer(request).literal.forms
    return tuple(sorted(json.dumps(form, ensure_ascii=False)[1:-1] for form in forms))


@dataclass(frozen=True, slots=True)
class ShowMatches:
    """The matches of the caller's plans, with what stands around them.

    Of documents over ``document_bytes`` each string is read by itself, up to as many bytes and
    while the time lasts.
    """

    store: Store
    patterns: Patterns
    clock: Clock
    document_bytes: int = MAX_PREVIEWED_BYTES

    def page(
        self,
        principal: Principal,
        plan_id: int,
        *,
        after: int = 0,
        table_id: int | None = None,
        limit: int = MAX_MATCHES_SHOWN,
    ) -> Page[ShownMatch]:
        """Returns matches with higher numbers, at most ``limit``; ``table_id``: of one document.

        A page is shorter where texts are long, or documents take their time. Raises NotFoundError,
        PlanNotReadyError, PlanExpiredError when the texts of the plan are forgotten,
        ReplaceStaleError with the strings that are not as they were shown, and
        ManagementBackpressureError. To an agent strings are shown that its tools can return now;
        otherwise they are ``OUT_OF_REACH``. It is shown none of documents over ``document_bytes``.
        """
        with managing(self.store, principal.project_id):
            return self._page(principal, plan_id, after, table_id, limit)

    def _page(
        self, principal: Principal, plan_id: int, after: int, table_id: int | None, limit: int
    ) -> Page[ShownMatch]:
        agent = principal.mcp_id if isinstance(principal, McpKey) else None
        with self.store.for_project(principal.project_id) as work:
            plan = find_plan(work, principal, plan_id)
            if plan.state == "previewing":
                raise PlanNotReadyError("the preview is still going on", retry_after_s=1)
            if plan.request is None:
                raise PlanExpiredError("the texts of the plan are forgotten")
            strings = work.plans.strings_of_matches(
                plan.id, after=after, limit=limit + 1, table_id=table_id
            )
        last = strings[-1].last_match if strings else 0
        with replacer_of(plan.request, self.patterns, text_timeout_s=REQUEST_TEXT_S) as replacer:
            shown_strings = _with_first(strings, after, limit)
            matches = self._matches(plan, agent, shown_strings, replacer)
            shown = fitting((match for match in matches if match.number > after), limit)
        has_more = bool(shown) and shown[-1].number < last
        return Page(shown, shown[-1].number if has_more else None)

    def _matches(
        self,
        plan: Plan,
        agent: int | None,
        strings: Sequence[PlannedString],
        replacer: Replacer,
    ) -> Iterator[ShownMatch]:
        """Yields the matches of strings, as far as the time goes, of one string at least."""
        deadline = Deadline(self.clock, self.clock.monotonic() + _PAGE_S)
        for _, group in groupby(strings, key=lambda string: string.table_id):
            for of_string in self._of_table(plan, agent, list(group), replacer):
                yield from of_string
                if not deadline.left_s():
                    return

    def _of_table(
        self,
        plan: Plan,
        agent: int | None,
        strings: Sequence[PlannedString],
        replacer: Replacer,
    ) -> Iterator[Iterator[ShownMatch]]:
        table_id = strings[0].table_id
        with self.store.for_project(plan.project_id) as work:
            table = work.tables.find(table_id, project_id=plan.project_id)
            whole = work.tables.part(table_id, [], max_bytes=self.document_bytes) if table else None
            visible = None if agent is None else visible_strings(work, plan.project_id, agent)
        revision = whole.revision if whole else None
        if whole is not None and whole.text is None:
            if agent is not None:  # without the document nobody knows its fields
                return
            for string in strings:  # together they may be as long as the document
                yield from _shown([string], [self._text_of(plan, string)], replacer, revision)
            return
        document = parse_fielded(whole.text) if whole and whole.text is not None else None
        texts = [string_at(document, string.json_pointer) for string in strings]
        if visible is not None:
            _check_reach(visible.in_document(table_id, document), strings, texts)
        yield from _shown(strings, texts, replacer, revision)

    def _text_of(self, plan: Plan, string: PlannedString) -> str | None:
        """Reads one string of a document; None: there is none."""
        path, most = split(string.json_pointer), self.document_bytes
        with self.store.for_project(plan.project_id) as work:
            part = work.tables.part(string.table_id, path, max_bytes=most)
        if part is None or not part.is_string:
            return None
        if part.text is None:
            raise DocumentTooLargeError(f"the string has over {most} bytes")
        return str(json.loads(part.text))


def _check_reach(
    visible: VisibleInDocument, strings: Sequence[PlannedString], texts: Sequence[str | None]
) -> None:
    for string, text in zip(strings, texts, strict=True):
        if text is not None and not visible.may_change(string.json_pointer, text):
            raise _stale([ChangedString(string.table_id, "", "OUT_OF_REACH")])


def _shown(
    strings: Sequence[PlannedString],
    texts: Sequence[str | None],
    replacer: Replacer,
    revision: int | None,
) -> Iterator[Iterator[ShownMatch]]:
    """Yields the matches of each string. Raises ReplaceStaleError with those that changed."""
    changed = [
        ChangedString(
            string.table_id, string.json_pointer, "GONE" if text is None else "CHANGED", revision
        )
        for string, text in zip(strings, texts, strict=True)
        if text is None or string_hash(text) != string.before_hash
    ]
    if changed:
        raise _stale(changed)
    for string, text in zip(strings, texts, strict=True):
        if text is not None:
            yield _of_string(string, text, replacer, revision)


def _with_first(
    strings: Sequence[PlannedString], after: int, limit: int
) -> Sequence[PlannedString]:
    """Returns as many strings as it takes for the next ``limit`` matches."""
    count = 0
    for number, string in enumerate(strings):
        if count >= limit:
            return strings[:number]
        count += string.last_match - max(after, string.first_match - 1)
    return strings


def fitting(matches: Iterable[ShownMatch], limit: int) -> list[ShownMatch]:
    """Returns what fits into an answer, one at least."""
    shown: list[ShownMatch] = []
    chars = 0
    for match in matches:
        edit = match.edit
        chars += sum(map(len, (match.json_pointer, edit.before, edit.found, edit.becomes)))
        if shown and chars > _PAGE_CHARS:
            break
        shown.append(match)
        if len(shown) == limit:
            break
    return shown


def _of_string(
    string: PlannedString, text: str, replacer: Replacer, revision: int | None
) -> Iterator[ShownMatch]:
    [found] = replacer.edits_in([text], Allowance())
    if string_hash(apply_edits(text, found.edits)) != string.after_hash:
        differs = ChangedString(string.table_id, string.json_pointer, "MATCHES_DIFFER", revision)
        raise _stale([differs])
    for number, edit in enumerate(shown_edits(text, found.edits), start=string.first_match):
        yield ShownMatch(number, string.table_id, string.json_pointer, edit)


def _stale(changed: Sequence[ChangedString]) -> ReplaceStaleError:
    chars = accumulate(len(each.json_pointer) for each in changed)
    named = [
        {
            "table_id": each.table_id,
            "json_pointer": each.json_pointer,
            "reason": each.reason,
            "revision": each.revision,
        }
        for each, upto in zip(changed, chars, strict=True)
        if upto <= _PAGE_CHARS
    ]
    return ReplaceStaleError(
        stale_message("replace", changed),
        members={"changed_count": len(changed), "changed": named},
    )


def is_visible(principal: Principal, plan: Plan) -> bool:
    """Says whether a plan of the caller's project is his: an agent has those of its instance."""
    return not isinstance(principal, McpKey) or plan.mcp_id == principal.mcp_id


def find_plan(work: UnitOfWork, principal: Principal, plan_id: int) -> Plan:
    """Returns a plan of the caller's. Raises NotFoundError; a foreign one looks like no plan."""
    plan = work.plans.find(plan_id, project_id=principal.project_id)
    if plan is None or not is_visible(principal, plan):
        raise NotFoundError("there is no such plan")
    return plan


def locked_chain(work: UnitOfWork, plan: Plan) -> list[Plan]:
    """Returns the plan that was executed first, its undo, and so on; ``plan`` is one of them.

    Nobody else changes them, or undoes the last, until the transaction ends.
    """
    first: Plan | None = plan
    while first is not None and first.undoes is not None:
        plan, first = first, work.plans.find(first.undoes, project_id=plan.project_id)
    at = (first or plan).id
    chain: list[Plan] = []
    while work.plans.lock(at) is not None:
        # Read after the lock: who had it may have undone the plan.
        locked = work.plans.find(at, project_id=plan.project_id)
        if locked is None:
            break
        chain.append(locked)
        if locked.undone_by is None:
            break
        at = locked.undone_by
    return chain


def strings_of(work: UnitOfWork, plan_id: int) -> Iterator[PlannedString]:
    """Yields all strings of a plan that have matches, in their order."""
    after = 0
    while page := work.plans.strings_of_matches(plan_id, after=after, limit=_STRINGS_AT_ONCE):
        yield from page
        after = page[-1].last_match
