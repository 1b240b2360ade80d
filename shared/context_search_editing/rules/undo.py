"""Taking back what a plan did to the strings of a document, where they are as it left them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from context_search.core.documents import FoundString
from context_search_editing.rules.edits import Edit, apply_edits, string_hash


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


def exact_undo(
    present: str, edits: Iterable[Edit], *, before_hash: bytes, final_hash: bytes
) -> tuple[Edit, ...] | None:
    """Returns the edits of ``present`` that make the text before ``edits``, byte for byte.

    None where ``present`` is not the text that they made, by ``string_hash``. Raises ValueError
    where they do not lead back to the text before, so they are not what was executed.
    """
    if string_hash(present) != final_hash:
        return None
    back = reversed_edits(edits)
    if string_hash(apply_edits(present, back)) != before_hash:
        raise ValueError("the reversed edits do not make the text before")
    return back


def is_as_left(place: Edit, after: str, now: Edit, present: str) -> bool:
    """Says whether ``place`` of ``after``, which is ``now`` in ``present``, is as a plan left it.

    It is not where somebody took it back himself, which would be done twice then: the plan may
    have left a part of what was there before. Nor is a deletion with other neighbours on both
    sides: that text was written anew.
    """
    before = place.becomes
    if present.startswith(before, now.start) and not after.startswith(before, place.start):
        return False
    if present.endswith(before, 0, now.end) and not after.endswith(before, 0, place.end):
        return False
    if place.found:
        return True
    ahead = after[max(0, place.start - 1) : place.start]
    behind = after[place.end : place.end + 1]
    return bool(
        (ahead and present.endswith(ahead, 0, now.start))
        or (behind and present.startswith(behind, now.end))
    )


def moved_strings(
    strings: Iterable[FoundString], sought: Sequence[bytes]
) -> dict[bytes, FoundString]:
    """Returns the string of each ``string_hash`` that is sought once and that one string alone has.

    ``strings`` are those of a document which the plan does not find at their own places. No text
    is kept but those that are returned.
    """
    once = {sha256 for sha256, times in Counter(sought).items() if times == 1}
    found: dict[bytes, FoundString] = {}
    for string in strings:
        sha256 = string_hash(string.text)
        if sha256 in found:
            once.discard(sha256)
        elif sha256 in once:
            found[sha256] = string
    return {sha256: string for sha256, string in found.items() if sha256 in once}
