"""Matchers with one thing wrong: random cases must tell each from brute force."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from unicodedata import normalize

import pytest

from context_search_editing.rules.borders import Borders
from context_search_editing.rules.edits import Edit, StringEdits, apply_edits
from context_search_editing.rules.literals import Literal, Place
from context_search_editing.rules.replacing import Allowance, LiteralReplacer, ReplaceRequest
from tests.editing.brute_force import brute_force, random_case

CASES = 6_000
Result = tuple[str, int | None]
"""The new string, and how many places were left alone as parts of characters."""
Matcher = Callable[[str, ReplaceRequest], Result]


def right(text: str, request: ReplaceRequest) -> Result:
    edits = LiteralReplacer(request).edits_of(text, Allowance())
    return apply_edits(text, edits.edits), edits.left_out.inside_character


def by(
    literal: Callable[[ReplaceRequest], Literal] | None = None,
    borders: Callable[[str, ReplaceRequest], Borders] | None = None,
) -> Matcher:
    """The matcher with another part in it."""

    def matcher(text: str, request: ReplaceRequest) -> Result:
        seeker = (literal or exact)(request)
        found = list(seeker.places(text, (borders or respected)(text, request)))
        whole = [place for place in found if not place.inside_character]
        return exchanged(text, whole, request.replace_with), len(found) - len(whole)

    return matcher


def exchanged(text: str, places: list[Place], becomes: str) -> str:
    return apply_edits(text, [Edit(p.start, text[p.start : p.end], becomes) for p in places])


def exact(request: ReplaceRequest) -> Literal:
    return Literal(request.find, case_sensitive=request.case_sensitive)


def respected(text: str, request: ReplaceRequest) -> Borders:
    return Borders(text, whole_word=request.whole_word, whole_characters=request.whole_characters)


class OnlyAsGiven(Literal):
    """Does not know NFC and NFD."""

    def __init__(self, request: ReplaceRequest) -> None:
        super().__init__(request.find, case_sensitive=request.case_sensitive)
        self._forms = {self._comparable(request.find)}


class GoesOnBehindARefusedWord(Literal):
    def __init__(self, request: ReplaceRequest) -> None:
        super().__init__(request.find, case_sensitive=request.case_sensitive)
        self._steps = {form: len(form) for form in self._forms}


class CompatibilityForms(Literal):
    """Full-width is half-width, a ligature its letters."""

    def __init__(self, request: ReplaceRequest) -> None:
        super().__init__(normalize("NFKC", request.find), case_sensitive=request.case_sensitive)


class AsciiWords(Borders):
    r"""``\b`` of ``re`` without Unicode, and of RE2."""

    def __init__(self, text: str, request: ReplaceRequest) -> None:
        super().__init__(text, whole_characters=request.whole_characters)
        self._looks = request.whole_word

    def is_word(self, start: int, end: int) -> bool:
        border = re.compile(r"\b", re.ASCII)
        return not self._looks or all(border.match(self._text, at) for at in (start, end))


class UnicodeWords(AsciiWords):
    r"""``\b`` of ``re``: no word of Chinese stands beside another."""

    def is_word(self, start: int, end: int) -> bool:
        border = re.compile(r"\b")
        return not self._looks or all(border.match(self._text, at) for at in (start, end))


class OnlyTheBeginning(Borders):
    def is_whole(self, start: int, end: int) -> bool:  # noqa: ARG002 - that is the fault
        return super().is_whole(start, start)


class LinesAreCharacters(Borders):
    """CR LF is one character, as UAX #29 has it."""

    def _may_cut(self, clusters, position: int) -> bool:  # type: ignore[no-untyped-def]
        return bool(clusters.is_boundary(position))


def with_borders(kind: type[Borders]) -> Matcher:
    return by(
        borders=lambda text, request: kind(
            text, whole_word=request.whole_word, whole_characters=request.whole_characters
        )
    )


def no_characters(text: str, request: ReplaceRequest) -> Borders:
    return Borders(text, whole_word=request.whole_word, whole_characters=False)


def by_re(text: str, request: ReplaceRequest) -> Result:
    """i, İ and ı are one letter."""
    flags = re.NOFLAG if request.case_sensitive else re.IGNORECASE
    places = [Place(*match.span()) for match in re.finditer(re.escape(request.find), text, flags)]
    return exchanged(text, only_respected(places, text, request), request.replace_with), None


def only_respected(places: list[Place], text: str, request: ReplaceRequest) -> list[Place]:
    borders = respected(text, request)
    return [
        p for p in places if borders.is_word(p.start, p.end) and borders.is_whole(p.start, p.end)
    ]


def by_casefold(text: str, request: ReplaceRequest) -> Result:
    """ß is ss, and places move."""
    if request.case_sensitive:
        return right(text, request)
    folded = text.casefold()
    literal = Literal(request.find.casefold())
    found = literal.places(folded, respected(folded, request))
    places = [p for p in found if not p.inside_character and p.end <= len(text)]
    return exchanged(text, places, request.replace_with), None


def replaced_by_re(text: str, request: ReplaceRequest) -> Result:
    r"""A literal replacement in which ``\1`` means something."""
    if not (request.case_sensitive and request.whole_characters and not request.whole_word):
        return right(text, request)
    try:
        return re.sub(re.escape(request.find), request.replace_with, text), None
    except re.error:
        return "refused", None


def dollars_mean_groups(text: str, request: ReplaceRequest) -> Result:
    edits = LiteralReplacer(request).edits_of(text, Allowance()).edits
    meant = [Edit(e.start, e.found, e.becomes.replace("$0", e.found)) for e in edits]
    return apply_edits(text, meant), None


def bytes_for_characters(text: str, request: ReplaceRequest) -> Result:
    edits = LiteralReplacer(request).edits_of(text, Allowance()).edits
    places = [(len(text[: e.start].encode()), e) for e in edits]
    return spliced(text, [Edit(at, e.found, e.becomes) for at, e in places]), None


def on_moving_places(text: str, request: ReplaceRequest) -> Result:
    return spliced(text, LiteralReplacer(request).edits_of(text, Allowance()).edits), None


def spliced(text: str, edits: list[Edit] | tuple[Edit, ...]) -> str:
    """From left to right, at the places of the text before."""
    for edit in edits:
        text = text[: edit.start] + edit.becomes + text[edit.end :]
    return text


def overlapping(text: str, request: ReplaceRequest) -> Result:
    literal, borders = exact(request), respected(text, request)
    starts = range(len(text))
    found = [p for at in starts for p in literal.places(text[at:], borders) if p.start == 0]
    text = spliced(text, [Edit(at, "", request.replace_with) for at, _ in enumerate(found)])
    return text, None


def all_but_the_last(text: str, request: ReplaceRequest) -> Result:
    edits: StringEdits = LiteralReplacer(request).edits_of(text, Allowance())
    return apply_edits(text, edits.edits[:-1]), None


MUTANTS: dict[str, Matcher] = {
    "only the form that was given": by(literal=OnlyAsGiven),
    "goes on behind a refused word": by(literal=GoesOnBehindARefusedWord),
    "NFKC": by(literal=CompatibilityForms),
    "case ignored": by(literal=lambda request: Literal(request.find, case_sensitive=False)),
    "case never ignored": by(literal=lambda request: Literal(request.find)),
    "ASCII words": by(borders=AsciiWords),
    "words of re": by(borders=UnicodeWords),
    "grapheme rule off": by(borders=no_characters),
    "only the beginning is whole": with_borders(OnlyTheBeginning),
    "CR LF is one character": with_borders(LinesAreCharacters),
    "folding of re": by_re,
    "case folding that changes lengths": by_casefold,
    "replacement of re": replaced_by_re,
    "$ in literals": dollars_mean_groups,
    "byte offsets": bytes_for_characters,
    "edits on moving places": on_moving_places,
    "overlapping places": overlapping,
    "the last match is forgotten": all_but_the_last,
}


def differs(matcher: Matcher, cases: int) -> bool:
    """Whether random cases tell a matcher from brute force."""
    random = Random(11)
    for _ in range(cases):
        text, request = random_case(random)
        wanted = brute_force(text, request)
        changed, inside = matcher(text, request)
        if changed != apply_edits(text, wanted.edits):
            return True
        if inside not in (None, wanted.left_out.inside_character):
            return True
    return False


@pytest.mark.parametrize("name", MUTANTS)
def test_a_faulty_matcher_is_caught(name: str) -> None:
    assert differs(MUTANTS[name], CASES)


@pytest.mark.parametrize("matcher", [right, by()], ids=["replacer", "parts"])
def test_the_right_matcher_is_not(matcher: Matcher) -> None:
    assert not differs(matcher, 1_000)
