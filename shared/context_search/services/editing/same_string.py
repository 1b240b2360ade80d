"""Whether a string of a document is the one that a plan left there, or somebody else's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice

from context_search.domain.documents import FoundString, strings_at
from context_search.domain.editing.relocation import SearchAllowance, Undo
from context_search.domain.json_pointer import split
from context_search.domain.text.common_ends import common_ends
from context_search.services.editing.rewriting import string_at


@dataclass(frozen=True, slots=True)
class Lookalikes:
    """Strings of the document that a plan left which are not at their places: they are ``gone``;
    and those that are ``new`` at theirs. ``copies`` are texts of new ones that were there then.
    """

    gone: Sequence[FoundString]
    new: Sequence[FoundString]
    copies: Set[str]

    @classmethod
    def between(cls, then: object, now: object, most: int) -> Lookalikes:
        """Compares two documents; of more than ``most`` strings it keeps one more than these."""
        gone, new = (
            [*islice(_elsewhere(one, other), most + 1)] for one, other in [(then, now), (now, then)]
        )
        texts = {each.text for each in new}
        copies = {each.text for each in strings_at(then, [""]) if each.text in texts}
        return cls(gone, new, copies)

    def tell_apart(
        self, pointer: str, after: str, present: str, undo: Undo
    ) -> tuple[bool, SearchAllowance]:
        """Says whether ``present``, at the pointer of ``after``, is that string, edited since.

        It is not where another new string is as like ``after``, which may be it then, nor where
        one that is gone is as like ``present``, which may have come from there. Returns what is
        left of the allowance, too; where that is too little, nothing is told apart.
        """
        left = undo.left
        rivals = len(self.gone) + len(self.new)
        if not undo.is_known or present in self.copies or rivals > left.strings:
            return False, left
        like = max(undo.proof, _likeness(after, present))
        is_rivalled = any(
            _likeness(after, each.text) >= like for each in _others(self.new, pointer)
        ) or any(_likeness(each.text, present) >= like for each in _others(self.gone, pointer))
        return not is_rivalled, replace(left, strings=left.strings - rivals)


def in_lists(document: object, pointers: Iterable[str]) -> list[str]:
    """Returns the pointers of strings that are in a list, or below."""
    return [each for each in pointers if any(_list_lengths(document, each))]


def taken_over(
    then: object, now: object, own: Iterable[str], pointers: Iterable[str]
) -> Iterator[str]:
    """Yields those of ``pointers`` where by now an equal string of somebody else may stand.

    So it is in a list of another length than then, where the plan's own strings, at ``own``, were
    not the only ones with that text, and one of all these is gone.
    """
    shifted = {
        pointer: string_at(now, pointer)
        for pointer in pointers
        if _list_lengths(then, pointer) != _list_lengths(now, pointer)
    }
    if not shifted:
        return
    sought, of_plan = set(shifted.values()), set(own)
    strings = [each for each in strings_at(then, [""]) if each.text in sought]
    before = Counter(each.text for each in strings)
    foreign = {each.text for each in strings if each.json_pointer not in of_plan}
    today = Counter(each.text for each in strings_at(now, [""]) if each.text in foreign)
    for pointer, text in shifted.items():
        if text in foreign and today[text] < before[text]:
            yield pointer


def _list_lengths(document: object, pointer: str) -> list[int]:
    """Returns the lengths of the lists on the way to a string; 0 for an object."""
    lengths = []
    for token in split(pointer):
        if isinstance(document, list):
            lengths.append(len(document))
            document = document[int(token)]
        elif isinstance(document, dict):
            lengths.append(0)
            document = document[token]
    return lengths


def _elsewhere(one: object, other: object) -> Iterator[FoundString]:
    for string in strings_at(one, [""]):
        if string_at(other, string.json_pointer) != string.text:
            yield string


def _others(strings: Iterable[FoundString], pointer: str) -> Iterator[FoundString]:
    return (string for string in strings if string.json_pointer != pointer)


def _likeness(one: str, other: str) -> int:
    """Returns how many characters a text has in common with what may have become of it."""
    return len(one) if one in other else sum(common_ends(one, other))
