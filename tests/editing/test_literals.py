"""Rules that the matcher of literals takes for granted, over every code point there is."""

from __future__ import annotations

import sys
from random import Random
from unicodedata import category

import pytest

from context_search_editing.rules.borders import Borders
from context_search_editing.rules.literals import Literal, Place, fold
from context_search_editing.rules.words import is_edge


@pytest.fixture(scope="module")
def every() -> list[str]:
    """Every character that has a meaning."""
    characters = map(chr, range(sys.maxunicode + 1))
    return [character for character in characters if category(character) not in {"Cn", "Cs"}]


def test_folding_keeps_every_place(every: list[str]) -> None:
    longer = [character for character in every if len(character.lower()) != 1]
    assert longer == ["İ"]
    assert all(len(fold(character)) == 1 for character in every)


def test_folding_a_text_folds_its_characters(every: list[str]) -> None:
    random = Random(7)
    alphabet = "ΑΣΣΣσς iİIıßẞKk.'\u0301AÅ\u212a"
    for _ in range(2_000):
        text = "".join(random.choices(alphabet, k=9)) + random.choice(every)
        assert fold(text) == "".join(map(fold, text))


def test_folding_leaves_edges_where_they_are(every: list[str]) -> None:
    """What is known of the edges inside of a literal holds for every text that it stands in."""
    changed = [character for character in every if fold(character) != character]
    for neighbour in ("a", "林", " ", "\u0301"):
        for character in changed:
            pairs = (character + neighbour, fold(character) + neighbour)
            assert is_edge(pairs[0], 1) == is_edge(pairs[1], 1)
            assert is_edge(pairs[0][::-1], 1) == is_edge(pairs[1][::-1], 1)


def test_a_literal_occurs_where_it_could_be_replaced_or_not() -> None:
    joined = "\0".join(["nothing", "CAFE\u0301", "e"])
    assert Literal("caf\u00e9", case_sensitive=False).occurs_in(joined)
    assert not Literal("caf\u00e9").occurs_in(joined)
    assert not Literal("nothingcafe", case_sensitive=False).occurs_in(joined)


def test_the_longest_form_at_a_place_counts() -> None:
    # Its NFC has two marks less, and is followed by one of them.
    text = "e\u0301\u0323"
    literal = Literal("\u1eb9\u0301")
    assert list(literal.places(text, Borders(text))) == []
    text = "\u1eb9\u0301 e\u0323\u0301"
    assert list(literal.places(text, Borders(text))) == [Place(0, 2), Place(3, 6)]


@pytest.mark.parametrize(
    ("find", "text", "places"),
    [
        ("a" * 1_000, "a" * 300_000 + "b", 0),
        ("ab " * 333 + "a", "ab " * 100_000, 0),
        ("ab " * 333 + "ab", "ab " * 100_000, 299),
        ("a a", "a " * 100_000, 50_000),
    ],
)
def test_texts_that_repeat_themselves_are_searched_for_words(
    find: str, text: str, places: int
) -> None:
    borders = Borders(text, whole_word=True)
    assert len(list(Literal(find).places(text, borders))) == places
