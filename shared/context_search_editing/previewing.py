"""Previews: which strings a request would change, as a plan that can be executed.

``PreviewReplacements`` makes a plan, and ``ScanTables`` goes through its documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from context_search.access.lookup import live_tool
from context_search.budgets.shares import managing
from context_search.catalog.rules.tables import Part
from context_search.core.callers import Principal
from context_search.core.documents import FoundString, parse_fielded, parse_stored, strings_at
from context_search.core.errors import (
    AttemptsExhaustedError,
    CommitUnknownError,
    ConflictError,
    ContextSearchError,
    DocumentTooLargeError,
    InvalidInputError,
    NotFoundError,
    PatternTooSlowError,
    ReplaceBusyError,
    ReplaceTooLargeError,
    TooManyMatchesError,
)
from context_search.core.json_pointer import contains, split
from context_search.core.messages import ExecutePlan
from context_search.core.pages import PAGE, Page, page_of
from context_search.integrations.patterns.ports import Patterns
from context_search.integrations.ports import Clock, Deadline
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.reading.visible import visible_strings
from context_search.store import Store, UnitOfWork
from context_search_editing.finding import find_plan, is_visible, locked_chain
from context_search_editing.matching import (
    REQUEST_TEXT_S,
    WORKER_TEXT_S,
    EditedString,
    Replacer,
    edits_of_document,
    json_pieces,
    replacer_of,
)
from context_search_editing.rules.edits import StringEdits, apply_edits, shown_edits, string_hash
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
    Allowance,
    ReplaceRequest,
    check_request,
)
from context_search_editing.rules.warnings import Warnings
from context_search_editing.showing import PAGE_CHARS, ShownMatch, fitting

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
    document, in a request and in a worker.
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
        """Ends a plan that was not executed, and deletes what any plan found.

        What was executed cannot be undone then. Its undo and redo hold the same texts, which are
        deleted with them. Raises ConflictError while one of them is being executed.
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
        if number and chars > PAGE_CHARS:
            return Page(page.rows[:number], page.rows[number - 1].id)
    return page


def _replaced(work: UnitOfWork, plans: Sequence[Plan]) -> Mapping[int, int]:
    """Returns how many matches each executed plan replaced."""
    executed = [plan.id for plan in plans if plan.executed_by is not None]
    return work.plans.replaced(executed) if executed else {}


class OvertakenError(Exception):
    """The plan is no longer previewed, or another worker goes on with it."""


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

    One document is in memory at a time, and each is read in a transaction of its own. Its matches
    are committed together with the place to go on. The first commit wins, so after a kill nothing
    is there twice. After ``deadline`` no document is begun, but for the first one of a worker, and
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


def strings_of(work: UnitOfWork, plan_id: int) -> Iterator[PlannedString]:
    """Yields all strings of a plan that have matches, in their order."""
    after = 0
    while page := work.plans.strings_of_matches(plan_id, after=after, limit=_STRINGS_AT_ONCE):
        yield from page
        after = page[-1].last_match
