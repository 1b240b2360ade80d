"""Taking back what a plan did to the strings of a document, where they are as it left them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from context_search.core.documents import strings_at
from context_search_editing.rules.edits import Edit, apply_edits, string_at, string_hash
from context_search_editing.rules.plans import PlannedString


def reversed_edits(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Returns the edits of the text after ``edits`` that make the text before them again.

    ``edits`` are in order, as ``apply_edits`` takes them, and so are the reversed ones. What was
    deleted is found as ``""``; several of these at one place come back in the order they had.
    The reverse of the reverse are the edits themselves.
    """
    back: list[Edit] = []
    moved = 0
    for edit in edits:
        back.append(Edit(edit.start + moved, edit.becomes, edit.found))
        moved += len(edit.becomes) - len(edit.found)
    return tuple(back)


def exact_undo(text: str, edits: Iterable[Edit], *, before_hash: bytes) -> tuple[Edit, ...]:
    """Returns the edits of ``text``, which ``edits`` made, that make the text before again.

    Raises ValueError where they do not lead back to it, so they are not what was executed.
    """
    back = reversed_edits(edits)
    if string_hash(apply_edits(text, back)) != before_hash:
        raise ValueError("the reversed edits do not make the text before")
    return back


def places_as_left(document: object, strings: Sequence[PlannedString]) -> dict[int, str]:
    """Returns where the strings stand that are as a plan left them, by their positions in the plan.

    One stands at its place, or where the document has its text at one other place only. The second
    is for a text that was the only one of its kind when the plan wrote it: else it may be a string
    that the plan did not write.
    """
    places: dict[int, str] = {}
    missed: dict[bytes, int] = {}
    for string in strings:
        text = string_at(document, string.json_pointer)
        if text is not None and string_hash(text) == string.final_hash:
            places[string.position] = string.json_pointer
        elif string.is_only and string.final_hash is not None:
            missed[string.final_hash] = string.position
    if missed:
        moved = moved_to(document, places.values(), [*missed])
        places |= {missed[sha256]: place for sha256, place in moved.items()}
    return places


def moved_to(document: object, at_home: Iterable[str], sought: Sequence[bytes]) -> dict[bytes, str]:
    """Returns the place of each ``string_hash`` that is sought once and that one string alone has.

    ``at_home`` are the pointers of strings that are not looked at.
    """
    home = set(at_home)
    once = {sha256 for sha256, times in Counter(sought).items() if times == 1}
    found: dict[bytes, str] = {}
    for string in strings_at(document, [""]):
        if home and string.json_pointer in home:
            continue
        sha256 = string_hash(string.text)
        if sha256 in found:
            once.discard(sha256)
        elif sha256 in once:
            found[sha256] = string.json_pointer
    return {sha256: place for sha256, place in found.items() if sha256 in once}
