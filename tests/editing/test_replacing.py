"""What a request does to one string, against a matcher that goes place by place."""

from __future__ import annotations

import sys
from array import array
from random import Random
from unicodedata import category

import pytest

from context_search.core.errors import ReplaceTooLargeError, TooManyMatchesError
from context_search.text.batches import BATCH_CHARS, batches
from context_search.text.borders import Borders
from context_search.text.literals import Literal, Place, fold
from context_search.text.pattern_matches import PatternMatches
from context_search.text.words import is_edge
from context_search_editing.rules import replacing
from context_search_editing.rules.edits import Edit, LeftOut, StringEdits, apply_edits
from context_search_editing.rules.replacing import (
    Allowance,
    LiteralReplacer,
    PatternReplacer,
    ReplaceRequest,
)
from context_search_editing.rules.template import Template
from tests.editing.brute_force import brute_force, random_case
from tests.profile import THOROUGH

ALLOWANCE = Allowance()


def replaced(text: str, find: str, replace_with: str = "×", **options: bool) -> str:
    request = ReplaceRequest(find, replace_with, **options)
    return apply_edits(text, LiteralReplacer(request).edits_of(text, ALLOWANCE).edits)


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(30 if THOROUGH else 6))
def test_a_literal_is_found_where_brute_force_finds_it(seed: int) -> None:
    random, found = Random(seed), 0
    for _ in range(4_000):
        text, request = random_case(random)
        edits = LiteralReplacer(request).edits_of(text, ALLOWANCE)
        assert edits == brute_force(text, request), (text, request)
        found += bool(edits.edits)
    assert found > 1_200


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
    assert replaced(text, find) == expected


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
    assert replaced(text, find, case_sensitive=False) == expected


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
    assert replaced(text, find, whole_word=True) == expected


def test_lone_marks_go_when_characters_need_not_be_whole() -> None:
    assert replaced("cafe\u0301", "\u0301", "", whole_characters=False) == "cafe"
    assert replaced("cafe\u0301", "\u0301", "") == "cafe\u0301"


def test_what_was_replaced_by_something_else_is_not_found_again() -> None:
    text = "one two one"
    once = replaced(text, "one", "1")
    again = LiteralReplacer(ReplaceRequest("one", "1")).edits_of(once, ALLOWANCE)
    assert again == StringEdits()


def test_strings_are_searched_together_as_each_by_itself() -> None:
    random = Random(5)
    for _ in range(300):
        text, request = random_case(random)
        others = [random_case(random)[0] for _ in range(random.randint(0, 4))]
        texts = [*others, text, "", "x" * random.choice([0, BATCH_CHARS]), text]
        replacer = LiteralReplacer(request)
        together = list(replacer.edits_in(texts, ALLOWANCE))
        assert together == [replacer.edits_of(each, ALLOWANCE) for each in texts]


def test_strings_share_what_a_plan_may_hold() -> None:
    replacer = LiteralReplacer(ReplaceRequest("a", "b"))
    edited = replacer.edits_in(["aa", "", "aaa", "a"], Allowance(matches=5))
    assert [len(next(edited).edits) for _ in range(3)] == [2, 0, 3]
    with pytest.raises(TooManyMatchesError):
        next(edited)
    pattern = PatternReplacer(
        ReplaceRequest("a", "b", regex=True), Template.read("b", groups=0, names={})
    )
    found = [matches((0, 1)), matches(), matches((0, 1), (1, 2))]
    edited = pattern.edits_in(["a", "x", "aa"], found, Allowance(matches=2))
    assert [len(next(edited).edits) for _ in range(2)] == [1, 0]
    with pytest.raises(TooManyMatchesError):
        next(edited)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], []),
        ([0], [1]),
        ([0, 0, 0], [3]),
        ([BATCH_CHARS, 0], [2]),
        ([1, BATCH_CHARS, 1], [1, 1, 1]),
        ([BATCH_CHARS * 3, 1, 1], [1, 2]),
    ],
)
def test_short_texts_make_batches(lengths: list[int], expected: list[int]) -> None:
    texts = ["x" * length for length in lengths]
    assert [len(batch) for batch in batches(texts)] == expected
    assert [text for batch in batches(texts) for text in batch] == texts


def test_a_plan_grows_as_much_as_it_may() -> None:
    replacer = LiteralReplacer(ReplaceRequest("a", "12345"))
    allowance = Allowance(growth=10)
    allowance = allowance.less(replacer.edits_of("aa", allowance))
    assert allowance.growth == 2
    with pytest.raises(ReplaceTooLargeError):
        replacer.edits_of("a", allowance)
    shorter = LiteralReplacer(ReplaceRequest("long", "x"))
    assert allowance.less(shorter.edits_of("long long", allowance)) == Allowance(
        allowance.matches - 2, 2
    )


@pytest.mark.slow
def test_a_string_in_which_nearly_everything_stays_is_refused() -> None:
    text = "a\u0301" * (replacing.MAX_LEFT_OUT // 100)
    replacer = LiteralReplacer(ReplaceRequest("a", "b"))
    assert replacer.edits_of(text, ALLOWANCE).left_out.inside_character == len(text) // 2
    same = LiteralReplacer(ReplaceRequest("a", "a"))
    with pytest.raises(TooManyMatchesError, match=r"over 1,000,000 places"):
        same.edits_of("a" * (replacing.MAX_LEFT_OUT + 1), ALLOWANCE)


def matches(*spans: tuple[int, ...], empty: int = 0, too_slow: bool = False) -> PatternMatches:
    width = len(spans[0]) if spans else 2
    return PatternMatches(array("i", sum(spans, ())), width, empty, too_slow)


def test_matches_of_a_pattern_become_edits() -> None:
    template = Template.read("[$1]", groups=1, names={})
    replacer = PatternReplacer(ReplaceRequest("(.)x", "[$1]", regex=True), template)
    edits = replacer.edits_of("ax é bx", matches((0, 2, 0, 1), (5, 7, 5, 6), empty=3), ALLOWANCE)
    assert edits == StringEdits((Edit(0, "ax", "[a]"), Edit(5, "bx", "[b]")), LeftOut(empty=3))


def test_a_match_that_is_no_word_or_no_whole_character_is_left_out() -> None:
    request = ReplaceRequest("[ae]", "x", regex=True, whole_word=True)
    replacer = PatternReplacer(request, Template.read("x", groups=0, names={}))
    edits = replacer.edits_of("ab a e\u0301", matches((0, 1), (3, 4), (5, 6)), ALLOWANCE)
    assert edits == StringEdits((Edit(3, "a", "x"),), LeftOut())
    anywhere = PatternReplacer(ReplaceRequest("e", "x", regex=True), replacer._template)
    assert anywhere.edits_of("e\u0301", matches((0, 1)), ALLOWANCE).left_out == LeftOut(1)


def test_a_text_that_took_too_long_is_counted() -> None:
    replacer = PatternReplacer(
        ReplaceRequest("x", "y", regex=True), Template.read("y", groups=0, names={})
    )
    assert replacer.edits_of("x", matches(too_slow=True), ALLOWANCE).left_out == LeftOut(too_slow=1)


def test_a_replacement_is_not_made_when_it_would_be_too_long() -> None:
    template = Template.read("$0" * 5_000, groups=0, names={})
    replacer = PatternReplacer(ReplaceRequest("(?s).*", "$0…", regex=True), template)
    text = "x" * 50_000_000
    with pytest.raises(ReplaceTooLargeError):
        replacer.edits_of(text, matches((0, len(text))), ALLOWANCE)


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
