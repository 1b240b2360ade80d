"""Where a literal stands in a text.

No regular expression engine looks for literals: their case rules differ from ours (to ``re``, i, İ
and ı are one letter), and their time is not bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from unicodedata import normalize

from context_search.text.borders import Borders
from context_search.text.words import is_edge

_LONGER_IN_LOWER_CASE = "İ"
"""The only character whose lower case is longer than one."""


def fold(text: str) -> str:
    """Returns ``text`` in lower case, character by character: as long as it was.

    Σ, σ and ς are one letter; İ stays, so it equals neither i nor ı; ß is ẞ and not ss.
    """
    parts = text.split(_LONGER_IN_LOWER_CASE)
    return _LONGER_IN_LOWER_CASE.join(part.lower() for part in parts).replace("ς", "σ")


@dataclass(frozen=True, slots=True)
class Place:
    """A place ``[start, end)`` of a text where a literal stands; code points.

    ``inside_character``: it begins or ends within a grapheme cluster, so it is no match.
    """

    start: int
    end: int
    inside_character: bool = False


class Literal:
    """A text to look for: as it is, or in its NFC or NFD form; no other text is equal.

    At one place only one form can stand: what makes one longer than another is in all of it.
    """

    def __init__(self, find: str, *, case_sensitive: bool = True) -> None:
        """``find`` has at least one character."""
        forms = {find, normalize("NFC", find), normalize("NFD", find)}
        self._case_sensitive = case_sensitive
        self._forms = forms if case_sensitive else {fold(form) for form in forms}
        self._steps = {form: self._step_after(form) for form in self._forms}

    @property
    def forms(self) -> Collection[str]:
        """The texts that are equal to it; folded, where case is ignored."""
        return self._forms

    def occurs_in(self, text: str) -> bool:
        """Whether it stands anywhere, cut or not. Cheaper than ``places`` for many joined texts."""
        sought = self._comparable(text)
        return any(form in sought for form in self._forms)

    def places(self, text: str, borders: Borders) -> Iterator[Place]:
        """Yields the places where it stands, from left to right, without overlaps.

        A place that is no whole word is passed over, one inside a character is yielded as such;
        the search goes on one character behind the beginning of either. Time: linear in the text,
        but for places inside characters.
        """
        sought = self._comparable(text)
        nearest = dict.fromkeys(self._forms, -1)
        position = 0
        while (start := _nearest(sought, position, nearest)) < len(sought):
            form = next(form for form, at in nearest.items() if at == start)
            end = start + len(form)
            if not borders.is_word(start, end):
                position = start + self._steps[form]
                continue
            is_whole = borders.is_whole(start, end)
            yield Place(start, end, inside_character=not is_whole)
            position = end if is_whole else start + 1

    def _comparable(self, text: str) -> str:
        return text if self._case_sensitive else fold(text)

    def _step_after(self, refused: str) -> int:
        """How far behind the beginning of a form that is no word the next place can begin.

        A place that begins within the refused one is a form that agrees with its rest, and begins
        at one of its edges.
        """
        for step in range(1, len(refused)):
            rest = refused[step:]
            if is_edge(refused, step) and any(
                rest.startswith(form) or form.startswith(rest) for form in self._forms
            ):
                return step
        return len(refused)


def _nearest(sought: str, position: int, nearest: dict[str, int]) -> int:
    """Where the next form stands from ``position`` on; the end of the text: nowhere."""
    for form, at in nearest.items():
        if at < position:
            # Texts that repeat themselves have one here; ``find`` prepares a search first.
            is_here = sought.startswith(form, position)
            found = position if is_here else sought.find(form, position)
            nearest[form] = len(sought) if found < 0 else found
    return min(nearest.values())
