"""What an undo makes of one document: the strings that a plan changed become what they were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from context_search.catalog.rules.versions import MAX_RECORDED_BYTES
from context_search.catalog.versions import find_version, text_of
from context_search.core.errors import ContextSearchError
from context_search.store import UnitOfWork
from context_search_editing.rewriting import (
    ChangedString,
    KeptPlace,
    PlanCause,
    Refused,
    Rewritten,
    Source,
    executed_string,
    moved_to,
    parsed,
    read_document,
    refused,
    string_at,
    with_texts,
)
from context_search_editing.rules.edits import Edit, string_hash
from context_search_editing.rules.plans import Plan, PlannedString, PlannedTable
from context_search_editing.rules.relocation import SearchAllowance, relocated
from context_search_editing.rules.undo import exact_undo, is_as_left, reversed_edits
from context_search_editing.same_string import Lookalikes, in_doubt, taken_over


@dataclass(slots=True)
class RevertDocument:
    """``Rewriting`` of an undo: every place where the plan's text still is, and no other.

    A string that is as the plan left it becomes what it was before, byte for byte, also where it
    moved to another place. Of one that was edited since, the places come back that are found, where
    no other string may be it. A string that the plan did not write is left alone.
    What an agent replaced does not come back where it moved out of the places of its plan.
    ``bounded_by``: the MCP instance that undoes it. ``left`` is how much may be searched.
    """

    undone: Plan
    bounded_by: int | None = None
    left: SearchAllowance = field(default_factory=SearchAllowance)

    @property
    def cause(self) -> PlanCause:
        """The plan is an undo."""
        return "undo"

    def read(self, work: UnitOfWork, planned: PlannedTable, *, max_bytes: int) -> Source:
        """Returns the document, and where it was changed since the text that the plan left."""
        strings = work.plans.strings(self.undone.id, planned.table_id)
        source = Source(planned, [string for string in strings if string.edits])
        source = read_document(
            work, self.undone.project_id, source, bounded_by=self.bounded_by, max_bytes=max_bytes
        )
        if source.table is None or source.revision == planned.revision_seen:
            return source
        try:
            version = find_version(work, source.table, planned.revision_seen)
            # Both are parsed at the same time.
            room = max(max_bytes - source.size, MAX_RECORDED_BYTES)
            text = text_of(work, source.table, version, max_bytes=room)
        except ContextSearchError as error:
            if error.retryable:
                raise
            return source  # it is not recorded: places are not found without it
        return replace(source, left_by_plan=text)

    def rewritten(self, source: Source) -> Rewritten | Refused:
        """Returns what becomes of a document."""
        document = parsed(source)
        if isinstance(document, Refused):
            return document
        left_by_plan = _Parsed(source)
        found = self._found(source, document, left_by_plan)
        if not source.may_change(document, found.values()):
            return refused(source, "OUT_OF_REACH")
        texts: dict[str, str] = {}
        strings: list[PlannedString] = []
        kept: list[KeptPlace] = []
        source = replace(source, left_by_plan=None)  # many results may be held
        for string in source.strings:
            place, present = found.get(string.position, (string.json_pointer, None))
            back, stays = self._back(string, present, left_by_plan, document)
            kept += stays
            if back and present is not None:
                at = replace(string, json_pointer=place, before_hash=string_hash(present))
                done, texts[place] = executed_string(at, present, back)
                strings.append(replace(done, after_hash=done.final_hash or b""))
        conflicts = _conflicts(source, kept)
        if not texts:
            return Rewritten(source, kept=kept, conflicts=conflicts)
        after = with_texts(source, document, texts)
        if isinstance(after, Refused):
            return after
        done_count = sum(len(string.edits or ()) for string in strings)
        return Rewritten(source, after, strings, done_count, kept, conflicts)

    def _found(
        self, source: Source, document: object, left_by_plan: _Parsed
    ) -> dict[int, tuple[str, str]]:
        """Returns where strings are now, and what they are, by their positions in the plan.

        A text moved if it is once in what the plan left, and once now: elsewhere it may stand in a
        string of somebody's own.
        """
        texts = {each.position: string_at(document, each.json_pointer) for each in source.strings}
        missed = {
            each.position: each.final_hash or b""
            for each in source.strings
            if (text := texts[each.position]) is None or string_hash(text) != each.final_hash
        }
        at_home = [each.json_pointer for each in source.strings if each.position not in missed]
        foreign = {*left_by_plan.taken_over(document, at_home)}
        at_home = [each for each in at_home if each not in foreign]
        missed |= {
            each.position: each.final_hash or b""
            for each in source.strings
            if each.json_pointer in foreign
        }
        now = moved_to(document, at_home, [*missed.values()]) if missed else {}
        then = left_by_plan.places_of([*now], at_home)
        moved = {
            each.position: now[sha256]
            for each in source.strings
            if then.get(sha256 := missed.get(each.position, b"")) == each.json_pointer
        }
        taken = {*moved.values(), *foreign}
        found = {}
        for each in source.strings:
            place, text = each.json_pointer, texts[each.position]
            moved_place = moved.get(each.position)
            if moved_place is not None and self._may_reach(each.table_id, moved_place):
                place, text = moved_place, string_at(document, moved_place)
            elif place in taken:
                continue
            if text is not None:
                found[each.position] = (place, text)
        return found

    def _may_reach(self, table_id: int, place: str) -> bool:
        scope = self.undone.scope
        return scope.places is None or scope.contains(table_id, place)

    def _back(
        self, string: PlannedString, present: str | None, left_by_plan: _Parsed, document: object
    ) -> tuple[Sequence[Edit], list[KeptPlace]]:
        edits = string.edits or ()
        if present is None or string.final_hash is None:
            return (), _kept(string, range(len(edits)))
        exact = exact_undo(
            present, edits, before_hash=string.before_hash, final_hash=string.final_hash
        )
        if exact is not None:
            return exact, []
        after = left_by_plan.string(string)
        if after is None or string_hash(present) == string.before_hash:
            return (), _kept(string, range(len(edits)))
        undo = relocated(edits, after, present, self.left)
        others = left_by_plan.lookalikes(document, self.left.strings)
        is_it, self.left = others.tell_apart(string.json_pointer, after, present, undo)
        if not is_it:
            return (), _kept(string, range(len(edits)))
        stays = {each.edit for each in undo.kept}
        places = reversed_edits(edits)
        numbers = (number for number in range(len(edits)) if number not in stays)
        back = {
            number: edit
            for number, edit in zip(numbers, undo.edits, strict=True)
            if is_as_left(places[number], after, edit, present)
        }
        kept = [number for number in range(len(edits)) if number not in back]
        return [*back.values()], _kept(string, kept)


class _Parsed:
    """The strings that the undone plan left, of a document that is parsed when it is needed."""

    def __init__(self, source: Source) -> None:
        self._source = replace(source, text=source.left_by_plan)
        self._document: object = None
        self._is_parsed = False
        self._lookalikes: Lookalikes | None = None

    def string(self, string: PlannedString) -> str | None:
        """Returns the text that the plan made; None when it is not recorded."""
        text = string_at(self._read(), string.json_pointer)
        return text if text is not None and string_hash(text) == string.final_hash else None

    def places_of(self, sought: Sequence[bytes], at_home: Sequence[str]) -> dict[bytes, str]:
        """Returns where strings were that had a text alone, but for those at some pointers."""
        return moved_to(self._read(), at_home, sought) if sought else {}

    def taken_over(self, now: object, at_home: Sequence[str]) -> Iterable[str]:
        """Yields the pointers where another string with the same text may stand by now."""
        if not at_home or self._source.revision == self._source.planned.revision_seen:
            return ()
        own = {each.json_pointer: each.before_hash for each in self._source.strings}
        if self._source.text is None:
            return in_doubt(now, own, at_home)
        return taken_over(self._read(), now, own, at_home)

    def lookalikes(self, now: object, most: int) -> Lookalikes:
        """Returns what was changed in the whole document since."""
        if self._lookalikes is None:
            self._lookalikes = Lookalikes.between(self._read(), now, most)
        return self._lookalikes

    def _read(self) -> object:
        if not self._is_parsed and self._source.text is not None:
            self._document = parsed(self._source)
        self._is_parsed = True
        return self._document


def _kept(string: PlannedString, numbers: Sequence[int]) -> list[KeptPlace]:
    back = reversed_edits(string.edits or ())
    pointer = string.json_pointer
    return [KeptPlace(string.table_id, pointer, back[number].start) for number in numbers]


def _conflicts(source: Source, kept: Sequence[KeptPlace]) -> list[ChangedString]:
    pointers = dict.fromkeys(place.json_pointer for place in kept)
    table_id = source.planned.table_id
    return [
        ChangedString(table_id, pointer, "EDITED_SINCE", source.revision) for pointer in pointers
    ]
