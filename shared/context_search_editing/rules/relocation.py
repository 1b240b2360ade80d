"""Taking back what a plan did to a string that was edited since: place by place.

A place in the common beginning or end of the text then and now is where it was. One between is
looked for together with what is around it, and is found where that stands exactly once in both; so
are those behind it, as far as the texts go on alike.

Whether it is the same text at all is another question: ``Undo.is_known`` answers it by what stands
around the places, for the plan's own words may be in anybody's text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from context_search.text.common_ends import common_ends, common_head
from context_search_editing.rules.edits import Edit
from context_search_editing.rules.plans import KeptReason
from context_search_editing.rules.undo import reversed_edits

AROUND_CHARS = 16
"""Characters on each side of a place that are looked for with it; at an end of the text there are
fewer on one side. Places with fewer on both together are not looked for.
"""
MAX_SEARCHED_PLACES = 1_000
MAX_SEARCHED_CHARS = 2_000_000_000
MAX_COMPARED_STRINGS = 200_000


@dataclass(frozen=True, slots=True)
class SearchAllowance:
    """How many places of an undo may be looked for, in how many characters of texts together.

    ``strings``: how many others its edited strings may be compared with.
    """

    places: int = MAX_SEARCHED_PLACES
    chars: int = MAX_SEARCHED_CHARS
    strings: int = MAX_COMPARED_STRINGS


@dataclass(frozen=True, slots=True)
class Kept:
    """A place that an undo leaves alone: the number of its edit, from 0, and why."""

    edit: int
    reason: KeptReason = "EDITED_SINCE"


@dataclass(frozen=True, slots=True)
class Undo:
    """What takes back edits of a string: ``edits`` of the present text, in its order.

    ``left`` is the allowance for further strings. ``proof``: how many characters, of which none is
    the plan's, both texts have in common, and ``needed``: how many they need to be the same string.
    """

    edits: tuple[Edit, ...]
    kept: tuple[Kept, ...]
    left: SearchAllowance
    proof: int = 0
    needed: int = 0

    @property
    def is_known(self) -> bool:
        """Whether more than half of what is around the places is there, or 16 characters."""
        return self.proof >= self.needed


def relocated(
    edits: Sequence[Edit],
    after_text: str,
    present_text: str,
    allowance: SearchAllowance | None = None,
) -> Undo:
    """Returns the undo of ``edits``, which made ``after_text``, in what became of that.

    Every place is reverted or kept. Reverted are places where ``present_text`` has what the edit
    made, in the order of ``edits`` and without overlaps: nobody else's text is found by an edit.
    """
    back = reversed_edits(edits)
    search = _Search(after_text, present_text, back, allowance or SearchAllowance())
    first = bisect_right(back, search.head, key=lambda place: place.end)
    last = bisect_left(back, len(after_text) - search.tail, lo=first, key=lambda p: p.start)
    moved = len(present_text) - len(after_text)
    ahead = back[:first]
    behind = tuple(Edit(p.start + moved, p.found, p.becomes) for p in back[last:])
    least = ahead[-1].end if ahead else 0
    most = behind[0].start if behind else len(present_text)
    between = _longest_chain(
        [
            (number, place)
            for number, place in search.found(enumerate(back[first:last], start=first))
            if least <= place.start and place.end <= most
        ]
    )
    kept = sorted(set(range(first, last)) - {number for number, _ in between})
    return Undo(
        (*ahead, *(place for _, place in between), *behind),
        tuple(Kept(number) for number in kept),
        search.left(),
        search.proof,
        min(AROUND_CHARS, search.others_chars(0, len(after_text)) // 2 + 1),
    )


def others_chars(places: Sequence[Edit], start: int, end: int) -> int:
    """Returns how many characters of a part of a text are outside of ``places``, in its order."""
    first = bisect_right(places, start, key=lambda each: each.end)
    last = bisect_left(places, end, lo=first, key=lambda each: each.start)
    own = sum(min(p.end, end) - max(p.start, start) for p in places[first:last])
    return end - start - own


_Numbered = tuple[int, Edit]


class _Search:
    """Looks for places of the text after the edits in the present one."""

    def __init__(
        self, after: str, present: str, back: Sequence[Edit], allowance: SearchAllowance
    ) -> None:
        self._after = after
        self._present = present
        self._back = back
        self._allowance = allowance
        self._places = allowance.places
        self._chars = allowance.chars
        self.head, self.tail = common_ends(after, present)
        end = len(after)
        self.proof = self.others_chars(0, self.head) + self.others_chars(end - self.tail, end)

    def left(self) -> SearchAllowance:
        return replace(self._allowance, places=self._places, chars=self._chars)

    def others_chars(self, start: int, end: int) -> int:
        """Returns how many characters of a part of the text after the edits are not the plan's."""
        return others_chars(self._back, start, end)

    def found(self, places: Iterable[_Numbered]) -> Iterator[_Numbered]:
        """Yields the places that are found, where they are now. One place is sought once, however
        much was deleted there.
        """
        moved, alike_until = 0, -1
        missed: Edit | None = None
        for number, place in places:
            if missed is not None and (place.start, place.end) == (missed.start, missed.end):
                continue
            if place.end > alike_until:
                at = self._start_of(place)
                if at is None:
                    missed = place
                    continue
                moved = at - place.start
                alike = common_head(self._after, self._present, place.start, at)
                alike_until = place.start + alike
            yield number, Edit(place.start + moved, place.found, place.becomes)

    def _start_of(self, place: Edit) -> int | None:
        begin = max(0, place.start - AROUND_CHARS)
        window = self._after[begin : place.end + AROUND_CHARS]
        if len(window) - len(place.found) < AROUND_CHARS or not self._places:
            return None
        self._places -= 1
        # In the common ends it stands as often as in the other text: there, only once, and here.
        start = max(0, self.head - len(window) + 1)
        end = min(len(self._present), len(self._present) - self.tail + len(window) - 1)
        at = self._only(window, self._present, start, end)
        if at is None or self._only(window, self._after, 0, len(self._after)) is None:
            return None
        self.proof = max(self.proof, self.others_chars(begin, begin + len(window)))
        return at + place.start - begin

    def _only(self, window: str, text: str, start: int, end: int) -> int | None:
        """Returns where a window stands in ``text[start:end]`` if it does exactly once."""
        if end - start > self._chars:
            return None
        self._chars -= end - start
        at = text.find(window, start, end)
        return at if at >= 0 and text.find(window, at + 1, end) < 0 else None


def _longest_chain(places: Sequence[_Numbered]) -> list[_Numbered]:
    """Returns as many of the places as can stay in their order without overlaps.

    One that was moved far away would else push out all those that were not.
    """
    ends: list[int] = []
    """Of the chains with one place, two places, …: the first end that one of them has."""
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(places):
        length = bisect_right(ends, place.start)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(place.end)
            last.append(number)
        elif place.end < ends[length]:
            ends[length], last[length] = place.end, number
    chain: list[_Numbered] = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(places[at])
        at = before[at]
    return chain[::-1]
