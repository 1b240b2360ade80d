"""What a plan makes of one document: its new text, or a reason why the document stays as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from context_search.core.documents import parse_exact, strings_at
from context_search.core.errors import InvalidDocumentError, InvalidInputError
from context_search.core.json_text import fits, to_json
from context_search.core.limits import MAX_UPLOAD_BYTES
from context_search.core.model import Table
from context_search.store import UnitOfWork
from context_search_editing.find_edits import Replacer, with_strings
from context_search_editing.rules.edits import Edit, apply_edits, string_at, string_hash
from context_search_editing.rules.plans import (
    Choice,
    KeptReason,
    Plan,
    PlannedString,
    PlannedTable,
    SkipReason,
)
from context_search_editing.rules.replacing import Allowance
from context_search_editing.rules.undo import moved_to
from context_search_editing.rules.visible_strings import VisibleStrings
from context_search_editing.visible_strings import visible_strings

PlanCause = Literal["replace", "undo"]
MAX_STRING_CHARS = 50_000_000
"""Maximum length of a string that a plan makes longer, in characters."""


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
    chosen. ``is_forgotten``: what was planned went with the document.
    ``visible`` is what the agent that asked for it can see now; None: a person asked.
    """

    planned: PlannedTable
    strings: Sequence[PlannedString]
    table: Table | None = None
    revision: int = 0
    text: str | None = field(default=None, repr=False)
    is_forgotten: bool = False
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
    times = Counter(each.text for each in strings_at(document, [""]) if each.text in texts)
    strings = [replace(string, is_only=times[text] == 1) for string, text in done]
    count = sum(len(string.edits or ()) for string in strings)
    return Rewritten(source, after, strings, count, kept, conflicts)


@dataclass(frozen=True, slots=True)
class Replace:
    """``Rewriting`` of a plan to replace: the chosen ones of the matches that were shown."""

    plan: Plan
    choice: Choice
    replacer: Replacer

    @property
    def cause(self) -> PlanCause:
        """The plan is one to replace."""
        return "replace"

    def read(self, work: UnitOfWork, planned: PlannedTable, *, max_bytes: int) -> Source:
        """Returns the document, and those of its strings in which something is chosen."""
        if planned.table_id in self.choice.leave_tables:
            return Source(planned, ())
        strings = work.plans.strings(self.plan.id, planned.table_id)
        chosen = [string for string in strings if self._is_chosen(string)]
        source = Source(planned, chosen, is_forgotten=not strings)
        if not chosen:
            return source
        bounded_by = self.plan.bounded_by
        return read_document(
            work, self.plan.project_id, source, bounded_by=bounded_by, max_bytes=max_bytes
        )

    def _is_chosen(self, string: PlannedString) -> bool:
        numbers = range(string.first_match, string.first_match + string.matches)
        return any(self.choice.takes(string.table_id, number) for number in numbers)

    def rewritten(self, source: Source) -> Rewritten | Refused:
        """Finds the matches again: nothing is done to a string that was not shown."""
        if not source.strings:
            return refused(source, "GONE") if source.is_forgotten else Rewritten(source)
        document = parsed(source)
        if isinstance(document, Refused):
            return document
        texts = [string_at(document, string.json_pointer) for string in source.strings]
        if conflicts := _changed(source, document, texts):
            return Refused(source, conflicts)
        present = [text for text in texts if text is not None]
        done = self._done(source.strings, present)
        if done is None:
            return refused(source, "MATCHES_DIFFER")
        return rewritten_with(source, document, done)

    def _done(
        self, strings: Sequence[PlannedString], texts: Sequence[str]
    ) -> list[tuple[PlannedString, str]] | None:
        """None when the rules, or the engine, make something else of the texts by now."""
        done = []
        try:
            found = self.replacer.edits_in(texts, Allowance())
            for string, text, all_of in zip(strings, texts, found, strict=True):
                edits = all_of.edits
                if string_hash(apply_edits(text, edits)) != string.after_hash:
                    return None
                chosen = [
                    edit
                    for number, edit in enumerate(edits, start=string.first_match)
                    if self.choice.takes(string.table_id, number)
                ]
                if len(edits) != string.matches or not chosen:
                    return None
                done.append(executed_string(string, text, chosen))
        except InvalidInputError:  # a pattern that is too slow now, more matches than there may be
            return None
        return done


def _changed(
    source: Source, document: object, texts: Sequence[str | None]
) -> Sequence[ChangedString]:
    """Returns the strings that are not as they were shown; of what is out of reach no place."""
    pointers = (string.json_pointer for string in source.strings)
    if not source.may_change(document, zip(pointers, texts, strict=True)):
        return refused(source, "OUT_OF_REACH").conflicts
    wrong = [
        string
        for string, text in zip(source.strings, texts, strict=True)
        if text is None or string_hash(text) != string.before_hash
    ]
    if not wrong:
        return []
    missed = {string.json_pointer for string in wrong}
    at_home = (each.json_pointer for each in source.strings if each.json_pointer not in missed)
    moved = moved_to(document, at_home, [string.before_hash for string in wrong])
    there = {
        string.json_pointer
        for string, text in zip(source.strings, texts, strict=True)
        if text is not None
    }

    def told(string: PlannedString) -> ChangedString:
        place = moved.get(string.before_hash)
        reason: SkipReason = "CHANGED" if string.json_pointer in there else "GONE"
        return ChangedString(
            source.planned.table_id,
            string.json_pointer,
            "MOVED" if place is not None else reason,
            source.revision,
            place,
        )

    return [told(string) for string in wrong]
