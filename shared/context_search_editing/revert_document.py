"""What an undo makes of one document: the strings that a plan changed become what they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from context_search.store import UnitOfWork
from context_search_editing.rewriting import (
    ChangedString,
    KeptPlace,
    PlanCause,
    Refused,
    Rewritten,
    Source,
    executed_string,
    parsed,
    read_document,
    refused,
    rewritten_with,
)
from context_search_editing.rules.edits import Edit, string_at
from context_search_editing.rules.plans import Plan, PlannedString, PlannedTable
from context_search_editing.rules.undo import exact_undo, places_as_left, reversed_edits


@dataclass(frozen=True, slots=True)
class RevertDocument:
    """``Rewriting`` of an undo: strings that are as the plan left them become what they were.

    Byte for byte, also where one moved to another place (``places_as_left``). Every other string
    is a conflict, and stays. What an agent replaced does not come back where it moved out of the
    places of its plan. ``bounded_by``: the MCP instance that undoes it.
    """

    undone: Plan
    bounded_by: int | None = None

    @property
    def cause(self) -> PlanCause:
        """The plan is an undo."""
        return "undo"

    def read(self, work: UnitOfWork, planned: PlannedTable, *, max_bytes: int) -> Source:
        """Returns the document, and the strings that the plan changed in it."""
        strings = work.plans.strings(self.undone.id, planned.table_id)
        source = Source(planned, [string for string in strings if string.edits])
        return read_document(
            work, self.undone.project_id, source, bounded_by=self.bounded_by, max_bytes=max_bytes
        )

    def rewritten(self, source: Source) -> Rewritten | Refused:
        """Returns what becomes of a document."""
        document = parsed(source)
        if isinstance(document, Refused):
            return document
        places = self._places(source, document)
        there = [places.get(each.position, each.json_pointer) for each in source.strings]
        texts = [string_at(document, place) for place in there]
        if not source.may_change(document, zip(there, texts, strict=True)):
            return refused(source, "OUT_OF_REACH")
        done: list[tuple[PlannedString, str]] = []
        kept: list[KeptPlace] = []
        conflicts: list[ChangedString] = []
        for string, place, text in zip(source.strings, there, texts, strict=True):
            if text is None or string.position not in places:
                kept += _kept(string)
                conflicts.append(_conflict(source, string))
                continue
            present = replace(
                string,
                json_pointer=place,
                before_hash=string.final_hash or b"",
                after_hash=string.before_hash,
            )
            done.append(executed_string(present, text, self._back(string, text)))
        if not done:
            return Rewritten(source, kept=kept, conflicts=conflicts)
        return rewritten_with(source, document, done, kept, conflicts)

    def _places(self, source: Source, document: object) -> dict[int, str]:
        scope, table_id = self.undone.scope, source.planned.table_id
        return {
            position: place
            for position, place in places_as_left(document, source.strings).items()
            if scope.places is None or scope.contains(table_id, place)
        }

    def _back(self, string: PlannedString, text: str) -> Sequence[Edit]:
        return exact_undo(text, string.edits or (), before_hash=string.before_hash)


def _kept(string: PlannedString) -> list[KeptPlace]:
    places = reversed_edits(string.edits or ())
    return [KeptPlace(string.table_id, string.json_pointer, place.start) for place in places]


def _conflict(source: Source, string: PlannedString) -> ChangedString:
    pointer = string.json_pointer
    return ChangedString(source.planned.table_id, pointer, "EDITED_SINCE", source.revision)
