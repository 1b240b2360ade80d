"""Whether a string of a document is the one that a plan left there, or somebody else's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Literal

from context_search.core.documents import FoundString, strings_at
from context_search.core.json_pointer import resolve, split
from context_search.core.json_text import to_json
from context_search.text.common_ends import common_ends
from context_search_editing.rewriting import string_at
from context_search_editing.rules.edits import string_hash
from context_search_editing.rules.relocation import SearchAllowance, Undo, others_chars


@dataclass(frozen=True, slots=True)
class Lookalikes:
    """Strings of the document that a plan left which are not at their places: they are ``gone``;
    and those that are ``new`` at theirs. ``copies`` are texts of new ones that were there then.
    """

    gone: Sequence[FoundString]
    new: Sequence[FoundString]
    copies: Set[str]
    elements: _Elements

    @classmethod
    def between(cls, then: object, now: object, most: int) -> Lookalikes:
        """Compares two documents; of more than ``most`` strings it keeps one more than these."""
        gone, new = (
            [*islice(_elsewhere(one, other), most + 1)] for one, other in [(then, now), (now, then)]
        )
        texts = {each.text for each in new}
        copies = {each.text for each in strings_at(then, [""]) if each.text in texts}
        return cls(gone, new, copies, _Elements(then, now))

    def tell_apart(
        self, pointer: str, after: str, present: str, undo: Undo
    ) -> tuple[bool, SearchAllowance]:
        """Says whether ``present``, at the pointer of ``after``, is that string, edited since.

        It is not where another new string is as like ``after``, which may be it then, nor where
        one that is gone is as like ``present``, which may have come from there, the plan's own
        characters left out: somebody may have written these. Nor is it in an element
        of a list that was at another place, or whose own one is there. Returns what is
        left of the allowance, too; where that is too little, nothing is told apart.
        """
        left = undo.left
        rivals = len(self.gone) + len(self.new)
        if not undo.is_known or present in self.copies or rivals > left.strings:
            return False, left
        if self.elements.are_same(pointer) is False:
            return False, left
        like = max(undo.proof, _likeness(after, present))
        is_rivalled = any(
            _likeness(after, each.text) >= like for each in _others(self.new, pointer)
        ) or any(
            _shared(each.text, present, undo) >= undo.proof for each in _others(self.gone, pointer)
        )
        return not is_rivalled, replace(left, strings=left.strings - rivals)


def taken_over(
    then: object, now: object, own: Mapping[str, bytes], pointers: Iterable[str]
) -> Iterator[str]:
    """Yields those of ``pointers`` where by now an equal string may stand that is another one.

    So it is in an element of a list that was at another place, and in a list of another length
    unless the element is as it was, and is there once, or equal strings are as many as then and
    stood before it as they do. It is nowhere so if only strings of the plan had that text, all
    were the same before, and nobody added one. ``own``: the hashes of what those were, by pointer.
    """
    texts = {pointer: string_at(now, pointer) for pointer in pointers}
    before, today = (_places_of(document, {*texts.values()}) for document in (then, now))
    elements = _Elements(then, now)
    for text, places in before.items():
        places_now = today[text]
        whose = {own.get(place) for place in places}
        if len(whose) == 1 and None not in whose and len(places_now) <= len(places):
            continue
        pairs = zip(places, places_now, strict=False)
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if len(places_now) != len(places):
            alike = 0
        for number, place in enumerate(places):
            if place in texts:
                is_same = elements.are_same(place)
                if is_same is False or (is_same is None and number >= alike):
                    yield place


def in_doubt(now: object, own: Mapping[str, bytes], pointers: Iterable[str]) -> Iterator[str]:
    """Yields those of ``pointers`` in lists whose text another string has: either may be it.

    For documents of which only the present is known. ``own`` is as ``taken_over`` takes it.
    """
    texts = {each: string_at(now, each) for each in pointers if _is_in_list(now, each)}
    for places in _places_of(now, {*texts.values()}).values():
        if len({own.get(place) for place in places}) > 1:
            yield from (place for place in places if place in texts)


def _is_in_list(document: object, pointer: str) -> bool:
    for token in split(pointer):
        if isinstance(document, list):
            return True
        document = resolve(document, [token])
    return False


def _places_of(document: object, texts: Set[str | None]) -> Mapping[str | None, list[str]]:
    places: dict[str | None, list[str]] = {text: [] for text in texts}
    for string in strings_at(document, [""]):
        if (found := places.get(string.text)) is not None:
            found.append(string.json_pointer)
    return places


class _Elements:
    """The elements of lists of two documents, each compared once."""

    def __init__(self, then: object, now: object) -> None:
        self._then, self._now = then, now
        self._counts: dict[int, tuple[Counter[bytes], Counter[bytes]]] = {}
        self._known: dict[tuple[int, str], bool | Literal["inside"] | None] = {}

    def are_same(self, pointer: str) -> bool | None:
        """Says whether the elements of lists on the way to a string are those of then.

        None: it is not known.
        """
        then, now = self._then, self._now
        for token in split(pointer):
            if isinstance(then, list) and isinstance(now, list):
                key = (id(then), token)
                if key not in self._known:
                    self._known[key] = self._compared(then, now, int(token))
                if (is_same := self._known[key]) != "inside":
                    return is_same
            then, now = resolve(then, [token]), resolve(now, [token])
        return True

    def _compared(
        self, then: Sequence[object], now: Sequence[object], at: int
    ) -> bool | Literal["inside"] | None:
        is_long_as_then = len(then) == len(now)
        if is_long_as_then and then[at] == now[at]:
            return True
        if id(then) not in self._counts:
            self._counts[id(then)] = Counter(map(_hash, then)), Counter(map(_hash, now))
        before, today = self._counts[id(then)]
        one, other = _hash(then[at]), _hash(now[at])
        if one == other:
            return True if before[one] == today[one] == 1 else None
        if before[other] >= today[other] or today[one] >= before[one]:
            return False
        return "inside" if is_long_as_then else None


def _hash(element: object) -> bytes:
    return string_hash(to_json(element))


def _elsewhere(one: object, other: object) -> Iterator[FoundString]:
    for string in strings_at(one, [""]):
        if string_at(other, string.json_pointer) != string.text:
            yield string


def _others(strings: Iterable[FoundString], pointer: str) -> Iterator[FoundString]:
    return (string for string in strings if string.json_pointer != pointer)


def _likeness(one: str, other: str) -> int:
    """Returns how many characters a text has in common with what may have become of it."""
    return len(one) if one in other else sum(common_ends(one, other))


def _shared(gone: str, present: str, undo: Undo) -> int:
    """Returns how many characters that are not the plan's a text has in common with one of then."""
    if gone in present:
        at = present.index(gone)
        return others_chars(undo.edits, at, at + len(gone))
    head, tail = common_ends(gone, present)
    end = len(present)
    return others_chars(undo.edits, 0, head) + others_chars(undo.edits, end - tail, end)
