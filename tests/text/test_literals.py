"""Where a literal stands in a text, against a matcher that goes place by place."""

from __future__ import annotations

import sys
from random import Random
from unicodedata import category

import pytest

from context_search.text.borders import Borders
from context_search.text.literals import Literal, Place, fold
from context_search.text.words import is_edge
from tests.profile import THOROUGH
from tests.text.brute_force import places, random_search


def found(text: str, find: str, *, case_sensitive: bool = True, **options: bool) -> list[Place]:
    literal = Literal(find, case_sensitive=case_sensitive)
    return [*literal.places(text, Borders(text, **options))]


def marked(text: str, find: str, **options: bool) -> str:
    """The text with a sign in each place that may be exchanged."""
    for place in reversed(found(text, find, **options)):
        if not place.inside_character:
            text = f"{text[: place.start]}×{text[place.end :]}"
    return text


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(30 if THOROUGH else 6))
def test_a_literal_is_found_where_brute_force_finds_it(seed: int) -> None:
    random, matches = Random(seed), 0
    for _ in range(4_000):
        text, find, options = random_search(random)
        expected = places(text, find, **options)
        assert found(text, find, **options) == expected, (text, find, options)
        matches += any(not place.inside_character for place in expected)
    assert matches > 1_200


@pytest.mark.parametrize(
    ("text", "find", "expected"),
    [
        ("caf\u00e9 cafe\u0301", "caf\u00e9", "× ×"),
        ("caf\u00e9 cafe\u0301", "cafe\u0301", "× ×"),
        ("cafe\u0301", "cafe", "cafe\u0301"),
        ("Ａ１ A1", "A1", "Ａ１ ×"),  # no NFKC
        ("ﬁ fi", "fi", "ﬁ ×"),
        ("马 馬", "马", "× 馬"),
        ("İ i I ı", "i", "İ × I ı"),
        ("aaaa", "aa", "××"),
        ("aaa", "aa", "×a"),
        ("abab", "abab", "×"),
        ("x\r\ny", "\n", "x\r×y"),
        ("x\r\ny", "\r", "x×\ny"),
        ("👩\u200d👧 👩", "👩", "👩\u200d👧 ×"),
        ("🇩🇪🇩🇪", "🇪🇩", "🇩🇪🇩🇪"),
        ("It is $3.50 or $3,50", "$3.50", "It is × or $3,50"),
        ("a.c abc", "a.c", "× abc"),
        ("", "a", ""),
        ("废弃仓库，废弃仓库！", "废弃仓库", "×，×！"),
    ],
)
def test_an_exact_literal(text: str, find: str, expected: str) -> None:
    assert marked(text, find) == expected


@pytest.mark.parametrize(
    ("text", "find", "expected"),
    [
        ("Warehouse WAREHOUSE", "warehouse", "× ×"),
        ("İ i I ı", "i", "İ × × ı"),
        ("İ i I ı", "İ", "× i I ı"),
        ("İ i I ı", "ı", "İ i I ×"),
        ("ß ẞ ss SS", "ß", "× × ss SS"),
        ("ß ẞ ss SS", "ss", "ß ẞ × ×"),
        ("ΣΟΦΟΣ σοφος σοφοσ", "σοφος", "× × ×"),
        ("\u212a k K", "K", "× × ×"),
        ("\u212b å", "Å", "× ×"),
        ("İİ Straße", "STRAßE", "İİ ×"),
        ("CAFE\u0301", "caf\u00e9", "×"),
    ],
)
def test_a_literal_without_case(text: str, find: str, expected: str) -> None:
    assert marked(text, find, case_sensitive=False) == expected


@pytest.mark.parametrize(
    ("text", "find", "expected"),
    [
        ("サーバー", "サーバ", "サーバー"),
        ("サーバ と", "サーバ", "× と"),
        ("한국은", "한국", "한국은"),
        ("한국 은", "한국", "× 은"),
        ("林小雨", "林", "×小雨"),
        ("林小雨和林小溪", "林小雨", "×和林小溪"),
        ("iPhone手机", "iPhone", "×手机"),
        ("C++11", "C++", "×11"),
        ("C++", "C", "×++"),
        ("cat scatter concat cat.", "cat", "× scatter concat ×."),
        ("snake_case case", "case", "snake_case ×"),
        ("aa a a a", "a a", "aa × a"),
        ("らーめん", "ら", "×ーめん"),
        ("ภาษาไทย", "ไทย", "ภาษา×"),
        ("e\u0301a", "a", "e\u0301a"),
        ("naïve nai\u0308ve", "na", "naïve nai\u0308ve"),
        ("ab ab ab ab a", "ab ab a", "ab ab ×"),
        ("می\u200cخواهم", "می", "می\u200cخواهم"),
        ("नमस्ते", "नम", "नमस्ते"),
    ],
)
def test_a_whole_word(text: str, find: str, expected: str) -> None:
    assert marked(text, find, whole_word=True) == expected


def test_lone_marks_are_found_when_characters_need_not_be_whole() -> None:
    assert marked("cafe\u0301", "\u0301", whole_characters=False) == "cafe×"
    assert marked("cafe\u0301", "\u0301") == "cafe\u0301"


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
    assert found(text, "\u1eb9\u0301") == []
    text = "\u1eb9\u0301 e\u0323\u0301"
    assert found(text, "\u1eb9\u0301") == [Place(0, 2), Place(3, 6)]


@pytest.mark.parametrize(
    ("find", "text", "count"),
    [
        ("a" * 1_000, "a" * 300_000 + "b", 0),
        ("ab " * 333 + "a", "ab " * 100_000, 0),
        ("ab " * 333 + "ab", "ab " * 100_000, 299),
        ("a a", "a " * 100_000, 50_000),
    ],
)
def test_texts_that_repeat_themselves_are_searched_for_words(
    find: str, text: str, count: int
) -> None:
    assert len(found(text, find, whole_word=True)) == count
