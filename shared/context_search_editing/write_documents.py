"""What a plan makes of documents, and how that is written, together with what it overwrites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal, Protocol

from context_search.budgets.bounds import check_growth
from context_search.catalog.rules.versions import HistoryLimits, Origin, Overwritten
from context_search.catalog.versions import RecordVersions
from context_search.core.documents import parse_exact, strings_in
from context_search.core.errors import InvalidDocumentError, NotFoundError, ReplaceStaleError
from context_search.core.json_pointer import replace_value, resolve, split
from context_search.core.json_text import fits, to_json
from context_search.core.limits import MAX_UPLOAD_BYTES, ProjectBounds
from context_search.core.model import Table
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.reading.visible import visible_strings
from context_search.store import UnitOfWork
from context_search_editing.rules.edits import Edit, apply_edits, string_hash
from context_search_editing.rules.plans import (
    KeptReason,
    Plan,
    PlannedString,
    PlannedTable,
    SkipReason,
)

PlanCause = Literal["replace", "undo"]
MAX_STRING_CHARS = 50_000_000
"""Maximum length of a string that a plan makes longer, in characters."""
MAX_HELD_CHARS = 50_000_000
"""Maximum characters of documents that one request holds."""
MAX_SHOWN = 100
"""Maximum number of strings that are told to be in the way."""
SHOWN_POINTER_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class ChangedString:
    """A string that is not as a plan needs it; ``json_pointer`` "": the document is not.

    ``revision`` is the document's now, None where it is gone. ``moved_to``: where the string is.
    """

    table_id: int
    json_pointer: str
    reason: SkipReason | KeptReason
    revision: int | None = None
    moved_to: str | None = None


@dataclass(frozen=True, slots=True)
class KeptPlace:
    """A place that an undo left alone; ``char_start`` is where it was after the edits."""

    table_id: int
    json_pointer: str
    char_start: int
    reason: KeptReason = "EDITED_SINCE"


@dataclass(frozen=True, slots=True)
class Source:
    """A document as it is now, and the strings of it that a plan changes.

    ``table`` None: it is gone. ``text`` None: it is too large to be read, or nothing in it is
    chosen. ``is_purged``: what was planned went with the document.
    ``visible`` is what the agent that asked for it can see now; None: a person asked.
    """

    planned: PlannedTable
    strings: Sequence[PlannedString]
    table: Table | None = None
    revision: int = 0
    text: str | None = field(default=None, repr=False)
    is_purged: bool = False
    visible: VisibleStrings | None = None

    def may_change(self, document: object, strings: Iterable[tuple[str, str | None]]) -> bool:
        """Says whether strings of the document may be changed; what is None is not there."""
        if self.visible is None:
            return True
        visible = self.visible.in_document(self.planned.table_id, document)
        return all(text is None or visible.may_change(at, text) for at, text in strings)

    @property
    def chars(self) -> int:
        """How many characters of the document are held."""
        return len(self.text or "")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What becomes of a document. ``after`` None: it stays, for there is nothing to do.

    ``strings`` are those with edits, as they are to be stored. ``done`` counts places that are
    exchanged.
    """

    source: Source
    after: str | None = field(default=None, repr=False)
    strings: Sequence[PlannedString] = ()
    done: int = 0
    kept: Sequence[KeptPlace] = ()
    conflicts: Sequence[ChangedString] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that stays as it is, and why; ``conflicts`` has at least one entry."""

    source: Source
    conflicts: Sequence[ChangedString]

    @property
    def reason(self) -> SkipReason:
        """The first reason."""
        first = self.conflicts[0].reason
        return "CHANGED" if first == "EDITED_SINCE" else first


class Rewriting(Protocol):
    """What a plan does to its documents, one at a time."""

    @property
    def cause(self) -> PlanCause:
        """What is said of the revisions that it makes."""
        ...

    def read(self, work: UnitOfWork, planned: PlannedTable, *, max_bytes: int) -> Source:
        """Returns a document of up to ``max_bytes`` bytes with what is planned for it."""
        ...

    def rewritten(self, source: Source) -> Rewritten | Refused:
        """Returns what becomes of a document. Writes nothing."""
        ...


def read_document(
    work: UnitOfWork, project_id: int, source: Source, *, bounded_by: int | None, max_bytes: int
) -> Source:
    """Returns the source with the document in it, and with what an MCP instance can see."""
    table = work.tables.find(source.planned.table_id, project_id=project_id)
    part = table and work.tables.part(table.id, [], max_bytes=max_bytes)
    if not table or not part:
        return source
    visible = None if bounded_by is None else visible_strings(work, project_id, bounded_by)
    return replace(
        source,
        table=table,
        revision=part.revision,
        text=part.text,
        visible=visible,
    )


def refused(source: Source, reason: SkipReason) -> Refused:
    """Returns that a document stays for a reason that is of the whole."""
    revision = source.revision if source.table else None
    return Refused(source, [ChangedString(source.planned.table_id, "", reason, revision)])


def parsed(source: Source) -> object | Refused:
    """Returns the document of a source."""
    if source.table is None:
        return refused(source, "GONE")
    if source.text is None:
        return refused(source, "TOO_LARGE")
    try:
        return parse_exact(source.text)
    except InvalidDocumentError:
        return refused(source, "TOO_LARGE")


def with_strings(document: object, texts: Mapping[str, str]) -> object:
    """Puts texts in the place of strings, by their pointers; changes ``document`` in place.

    Returns it, or the new text of a document that is a string. Raises KeyError where there is no
    string.
    """
    for pointer, text in texts.items():
        tokens = split(pointer)
        if not isinstance(resolve(document, tokens), str):
            raise KeyError(pointer)
        document = replace_value(document, tokens, text)
    return document


def executed_string(
    planned: PlannedString, text: str, edits: Sequence[Edit]
) -> tuple[PlannedString, str]:
    """Returns a string with what is done to ``text``, and the text that it becomes."""
    after = apply_edits(text, edits)
    return replace(planned, edits=tuple(edits), final_hash=string_hash(after)), after


def rewritten_with(
    source: Source,
    document: object,
    done: Sequence[tuple[PlannedString, str]],
    kept: Sequence[KeptPlace] = (),
    conflicts: Sequence[ChangedString] = (),
) -> Rewritten | Refused:
    """Returns a document with other texts in some strings. Changes ``document``."""
    if any(len(text) > MAX_STRING_CHARS for _, text in done):
        return refused(source, "TOO_LARGE")
    document = with_strings(document, {string.json_pointer: text for string, text in done})
    after = to_json(document)
    if not fits(after, MAX_UPLOAD_BYTES):
        return refused(source, "TOO_LARGE")
    texts = {text for _, text in done}
    times = Counter(text for text in strings_in(document) if text in texts)
    strings = [replace(string, is_only=times[text] == 1) for string, text in done]
    count = sum(len(string.edits or ()) for string in strings)
    return Rewritten(source, after, strings, count, kept, conflicts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a document of a plan, or would have; ``conflicts``: what was in the way."""

    table: PlannedTable
    kept: Sequence[KeptPlace] = ()
    conflicts: Sequence[ChangedString] = ()


@dataclass(frozen=True, slots=True)
class Locked:
    """A document that is locked until the transaction ends, and what becomes of it."""

    result: Rewritten | Refused
    before: Overwritten | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class WriteDocuments:
    """Writes documents inside of transactions of its callers.

    Strict where history is on: a document whose content cannot be recorded stays as it is.
    ``recorder`` says how large one may be, ``max_held_chars`` all that are written at once,
    ``bounds`` what a project may hold: ProjectFullError is raised for a document that is longer
    afterwards and one too many.
    """

    recorder: RecordVersions = field(default_factory=RecordVersions)
    max_held_chars: int = MAX_HELD_CHARS
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    @property
    def max_bytes(self) -> int:
        """How many bytes of a document are read at most."""
        return self.recorder.max_bytes

    def lock(
        self,
        work: UnitOfWork,
        task: Rewriting,
        ahead: Rewritten | Refused,
        *,
        max_bytes: int | None,
    ) -> Locked | None:
        """Locks a document and returns it with its result, which was computed before.

        The result is computed again where the document has another revision, or another time: a
        revision may have been set back. ``max_bytes`` is how large it may be for that; None: it is
        not, and None is returned. Tables are locked in the order of their ids.
        """
        source = ahead.source
        if source.table is None:
            return Locked(ahead)
        try:
            before = work.versions.overwritten(
                source.table.id, project_id=source.table.project_id, max_bytes=0
            )
        except NotFoundError:
            return Locked(refused(replace(source, table=None, text=None), "GONE"))
        now = work.tables.find(source.table.id, project_id=source.table.project_id)
        if before.revision == source.revision and now == source.table:
            return Locked(ahead, before)
        if max_bytes is None:
            return None
        again = task.read(work, source.planned, max_bytes=max_bytes)
        return Locked(task.rewritten(again), before)

    def write_all(
        self,
        work: UnitOfWork,
        task: Rewriting,
        plan: Plan,
        ahead: Sequence[Rewritten | Refused],
    ) -> list[Outcome]:
        """Locks documents, then writes them. Those that are read again are held with the others.

        Raises ReplaceStaleError where something is in the way, unless the plan may go on then;
        what was written before has to be rolled back.
        """
        may_skip = plan.choice is not None and plan.choice.on_conflict == "skip"
        left = max(0, self.max_held_chars - sum(each.source.chars for each in ahead))
        locked: list[Locked] = []
        for each in ahead:
            one = self.lock(work, task, each, max_bytes=min(self.max_bytes, left))
            if one is None:
                continue
            locked.append(one)
            if one.result is not each:
                left -= min(left, one.result.source.chars)
        results = [each.result for each in locked]
        check_reach(task, results)
        if not may_skip:
            _let_pass(task, results)
        outcomes = [self.write(work, task, plan, each) for each in locked]
        if not may_skip:
            _let_pass(task, outcomes)
        return outcomes

    def write(self, work: UnitOfWork, task: Rewriting, plan: Plan, locked: Locked) -> Outcome:
        """Writes a locked document, what it overwrites, and the rows of the plan."""
        result = locked.result
        if isinstance(result, Rewritten):
            written = self._written(work, task, plan, result, locked.before)
            if isinstance(written, PlannedTable):
                work.plans.write_strings(plan.id, result.strings)
                work.plans.save_tables(plan.id, [written])
                return Outcome(written, result.kept, result.conflicts)
            result = refused(result.source, written)
        skipped = skipped_table(result.source.planned, result.reason, task.cause)
        work.plans.save_tables(plan.id, [skipped])
        return Outcome(skipped, conflicts=result.conflicts)

    def _written(
        self,
        work: UnitOfWork,
        task: Rewriting,
        plan: Plan,
        done: Rewritten,
        locked: Overwritten | None,
    ) -> PlannedTable | SkipReason:
        planned = replace(
            done.source.planned, state="done", replaced=done.done, kept=len(done.kept), runs=0
        )
        if done.after is None or done.source.table is None or locked is None:
            return planned
        before = replace(locked, text=done.source.text)
        if not before.settings.is_off and self.recorder.gap_of(before):
            return "SNAPSHOT_FAILED"
        changed = work.tables.replace(
            done.source.table.id,
            done.after,
            expected_revision=before.revision,
            origin=Origin(task.cause, plan.executed_by, plan.request_id, plan.id),
        )
        if changed is None:
            return "GONE"
        self.recorder.record(work, changed, before)
        if plan.undoes is None:  # what an undo brings back was there before
            check_growth(work, plan.project_id, self.bounds, done.after, before.text)
        return replace(planned, revision_before=before.revision, revision_after=changed.revision)


def check_reach(task: Rewriting, results: Iterable[Rewritten | Refused]) -> None:
    """Raises ReplaceStaleError when an agent's tools cannot return a string that is written."""
    _let_pass(task, [each for each in results if _is_out_of_reach(each)])


def _is_out_of_reach(result: Rewritten | Refused) -> bool:
    return isinstance(result, Refused) and result.reason == "OUT_OF_REACH"


def _let_pass(task: Rewriting, each: Iterable[Rewritten | Refused | Outcome]) -> None:
    if conflicts := [conflict for one in each for conflict in one.conflicts]:
        raise stale(task.cause, conflicts)


def skipped_table(planned: PlannedTable, reason: SkipReason, cause: PlanCause) -> PlannedTable:
    """Returns a document that stays as it is; an undo keeps all places in it."""
    kept = planned.matches if cause == "undo" else 0
    return replace(planned, state="skipped", reason=reason, kept=kept, runs=0)


def undo_until(work: UnitOfWork, project_id: int, now: datetime) -> datetime:
    """Returns until when a plan that is executed now can be undone."""
    settings = work.projects.settings(HistoryLimits, project_id).settings
    days = HistoryLimits().keep_days if settings.is_off else settings.keep_days
    return now + timedelta(days=days)


def stale(cause: PlanCause, conflicts: Sequence[ChangedString]) -> ReplaceStaleError:
    """Returns why nothing was written, with the first of the strings that are in the way."""
    reported: list[dict[str, object]] = []
    room = SHOWN_POINTER_CHARS
    for each in conflicts[:MAX_SHOWN]:
        room -= len(each.json_pointer) + len(each.moved_to or "")
        if room < 0:
            break
        reported.append({name: value for name, value in asdict(each).items() if value is not None})
    return ReplaceStaleError(
        stale_message(cause, conflicts),
        members={"changed_count": len(conflicts), "changed": reported},
    )


def stale_message(cause: PlanCause, conflicts: Sequence[ChangedString]) -> str:
    """Returns in words how many strings are in the way, and the table and the reason of the first.

    A pointer is text of the document, so it stands in ``changed`` alone: messages are logged.
    """
    first = f"{conflicts[0].reason}, in table {conflicts[0].table_id}"
    if len(conflicts) == 1:
        what, it, was = "1 string or document is", "it", "it was"
    else:
        what, it, was = f"{len(conflicts)} strings or documents are", "them", "they were"
        first = f"the first: {first}"
    how, then = {
        "replace": (f"{was} shown", "preview again"),
        "undo": (f"the plan left {it}", f"undo with on_conflict skip leaves {it} alone"),
    }[cause]
    return f"{what} not as {how} ({first}): {then}"
