"""Previews: which strings a request to replace would change, as a plan that can be executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from context_search.access.lookup import live_tool
from context_search.budgets.shares import managing
from context_search.core.callers import Principal
from context_search.core.errors import (
    AttemptsExhaustedError,
    CommitUnknownError,
    ConflictError,
    ContextSearchError,
    InvalidInputError,
    NotFoundError,
    ReplaceBusyError,
)
from context_search.core.json_pointer import contains, split
from context_search.core.pages import PAGE, Page, page_of
from context_search.integrations.ports import Clock, Deadline
from context_search.store import Store, UnitOfWork
from context_search_editing.find_edits import REQUEST_TEXT_S, WORKER_TEXT_S, replacer_of
from context_search_editing.find_plan import find_plan, is_visible, locked_chain
from context_search_editing.ports.patterns import Patterns
from context_search_editing.rules.plans import (
    DEFAULT_LIFETIME_S,
    MAX_LIFETIME_S,
    MAX_OPEN_PLANS,
    MAX_PREVIEWED_BYTES,
    MAX_PREVIEWS,
    MAX_RUNS,
    MAX_SCOPE_TABLES,
    MIN_LIFETIME_S,
    NewPlan,
    Plan,
    PlannedTable,
    ReplaceScope,
)
from context_search_editing.rules.replacing import MAX_MATCHES, ReplaceRequest, check_request
from context_search_editing.scan import (
    MAX_DOCUMENT_BYTES,
    OvertakenError,
    ScanTables,
    ShownMatch,
)
from context_search_editing.show_matches import fitting

MAX_SAMPLES = 200
MAX_MCP_MATCHES = 1_000
"""Maximum number of matches of a plan that an agent asks for."""
_BUSY_S = 1.0
_NOWHERE = ReplaceScope(places=())
Previewed = Literal["ready", "previewing", "failed", "nothing_to_do"]


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


_PAGE_CHARS = 500_000
"""Of texts that are replaced: an answer has 6 MB, and a character takes up to six bytes as JSON."""


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
            with self.store.for_all("carry out a plan") as work:
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
                work.plans.forget_texts(plan.id)

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
        with self.store.for_all("carry out a plan") as work:
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
        with suppress(ContextSearchError), self.store.for_all("carry out a plan") as work:
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
    for count, plan in enumerate(page.rows):
        if plan.request is not None:
            chars += len(plan.request.find) + len(plan.request.replace_with)
        if count and chars > _PAGE_CHARS:
            return Page(page.rows[:count], page.rows[count - 1].id)
    return page


def _replaced(work: UnitOfWork, plans: Sequence[Plan]) -> Mapping[int, int]:
    """Returns how many matches were replaced, by plan: of those that somebody executed."""
    executed = [plan.id for plan in plans if plan.executed_by is not None]
    return work.plans.replaced(executed) if executed else {}
