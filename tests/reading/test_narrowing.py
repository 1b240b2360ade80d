"""What is looked for in Postgres before a literal is: it stands in every text with the literal."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.reading.rules.narrowing import CASED, MAX_SPELLINGS, Narrowing
from context_search.text.borders import Borders
from context_search.text.literals import Literal, fold

ODD = "aAkK\u212asSſiIİıσςΣßẞéÉåÅ\u212bǅж仓 e\u0301.\u0307"
LITERALS = st.text(alphabet=ODD, min_size=1, max_size=6)


def lower(text: str) -> str:
    """What lower() of the collation C does."""
    return re.sub("[A-Z]+", lambda found: found[0].lower(), text)


def may_hold(narrowing: Narrowing, text: str) -> bool:
    folded = lower(text) if narrowing.is_folded else text
    return any(piece in folded for piece in narrowing.pieces)


@given(find=LITERALS, text=st.text(alphabet=ODD, max_size=30), case_sensitive=st.booleans())
def test_a_text_with_the_literal_has_a_piece_of_it(
    find: str, text: str, *, case_sensitive: bool
) -> None:
    literal = Literal(find, case_sensitive=case_sensitive)
    narrowing = Narrowing.of(literal, case_sensitive=case_sensitive)
    if any(literal.places(text, Borders(text, whole_characters=False))):
        assert may_hold(narrowing, text)
    assert len(narrowing.pieces) <= 3 * MAX_SPELLINGS
    if narrowing.hints:
        assert all(any(hint in piece for hint in narrowing.hints) for piece in narrowing.pieces)


@pytest.mark.parametrize(
    ("find", "pieces"),
    [
        ("Kitchen sink", ["itchen sin\u212a", "itchen sink"]),
        ("废弃仓库", ["废弃仓库"]),
        ("a" * 1_000, ["a" * 32]),
        ("Ж", ["Ж", "ж"]),
    ],
)
def test_the_most_telling_run_of_a_literal_is_its_piece(find: str, pieces: list[str]) -> None:
    narrowing = Narrowing.of(Literal(find, case_sensitive=False), case_sensitive=False)
    assert sorted(narrowing.pieces) == sorted(pieces)


@pytest.mark.parametrize(
    ("find", "hints"),
    [("зебра нигде", ["А ", "а "]), ("kick kick", ["ick ", "ic\u212a "]), ("зе", []), ("仓库", [])],
)
def test_many_pieces_have_a_part_in_common(find: str, hints: list[str]) -> None:
    narrowing = Narrowing.of(Literal(find, case_sensitive=False), case_sensitive=False)
    assert list(narrowing.hints) == hints


def test_every_character_that_folds_to_another_is_known() -> None:
    folded = {char: fold(char) for char in map(chr, range(0x80, sys.maxunicode + 1))}
    others = {char for char, becomes in folded.items() if becomes != char}
    assert {ord(char) for char in others} <= {*CASED}
    assert {char for char in others if folded[char].isascii()} == {"\u212a"}
