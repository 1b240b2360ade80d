"""A preview, document by document: what was found is stored, and where to go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from context_search.catalog.ports.tables import Part
from context_search.core.documents import (
    FoundString,
    parse_fielded,
    parse_stored,
    strings_at,
)
from context_search.core.errors import (
    DocumentTooLargeError,
    PatternTooSlowError,
    ReplaceTooLargeError,
    TooManyMatchesError,
)
from context_search.core.messages import CarryOutPlan
from context_search.core.pages import PAGE
from context_search.integrations.ports import Deadline
from context_search.store import Store, UnitOfWork
from context_search_editing.find_edits import (
    EditedString,
    Replacer,
    edits_of_document,
    json_pieces,
)
from context_search_editing.find_plan import strings_of
from context_search_editing.rules.edits import (
    ShownEdit,
    StringEdits,
    apply_edits,
    shown_edits,
    string_hash,
)
from context_search_editing.rules.plans import (
    MAX_PLANNED_STRINGS,
    MAX_PLANNED_TABLES,
    Plan,
    PlanCounts,
    PlannedString,
    PlannedTable,
    plan_digest,
)
from context_search_editing.rules.replacing import (
    MAX_GROWTH_CHARS,
    Allowance,
    ReplaceRequest,
)
from context_search_editing.rules.visible_strings import VisibleStrings
from context_search_editing.rules.warnings import Warnings
from context_search_editing.visible_strings import visible_strings

MAX_POINTER_CHARS = 20_000
"""Maximum length of the pointer of a string that is changed: answers carry it."""
MAX_DOCUMENT_BYTES = 300_000_000
"""No document that comes in is longer; of one that is, this is not the place to die of it."""
_NOT_NOW = Part(0, 0, None, is_string=False)


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
                work.send(CarryOutPlan(locked.id))
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
