"""What a request does to one string, against a matcher that goes place by place."""

from __future__ import annotations

from array import array
from random import Random

import pytest

from context_search.core.errors import ReplaceTooLargeError, TooManyMatchesError
from context_search.text.batches import BATCH_CHARS
from context_search.text.pattern_matches import PatternMatches
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

ALLOWANCE = Allowance()


def test_a_literal_is_replaced_where_brute_force_replaces_it() -> None:
    random, found = Random(5), 0
    for _ in range(4_000):
        text, request = random_case(random)
        edits = LiteralReplacer(request).edits_of(text, ALLOWANCE)
        assert edits == brute_force(text, request), (text, request)
        found += bool(edits.edits)
    assert found > 1_200


def test_what_was_replaced_by_something_else_is_not_found_again() -> None:
    text = "one two one"
    replacer = LiteralReplacer(ReplaceRequest("one", "1"))
    once = apply_edits(text, replacer.edits_of(text, ALLOWANCE).edits)
    again = replacer.edits_of(once, ALLOWANCE)
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
