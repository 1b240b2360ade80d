"""Slices of a text, with what is sensitive hidden and every offset right."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from context_search.text.redaction import Excerpt, RedactedText, Replacement, placeholder
from context_search.text.sensitive import find_sensitive
from context_search.text.sensitive.kinds import SENSITIVE_KINDS

TEXT = "Ring 13812345678 or write to foo@bar.com today."


def excerpt(text: str, char_start: int = 0) -> Excerpt:
    return Excerpt(text, char_start, find_sensitive(text, SENSITIVE_KINDS))


def test_what_is_not_sensitive_is_shown_as_it_is() -> None:
    assert excerpt("A quiet text.", 50).show(52, 57) == RedactedText("quiet")


def test_a_replacement_says_what_it_hides_of_the_source() -> None:
    shown = excerpt(TEXT, char_start=1_000).show(1_000, 1_000 + len(TEXT))
    assert shown.text == "Ring [redacted:phone] or write to [redacted:email] today."
    assert shown.replacements == (
        Replacement("phone", text_start=5, text_end=21, char_start=1_005, char_end=1_016),
        Replacement("email", text_start=34, text_end=50, char_start=1_029, char_end=1_040),
    )


def test_a_slice_through_a_sensitive_part_shows_no_half_of_it() -> None:
    cut = excerpt(TEXT)
    assert cut.show(0, 10).text == "Ring [redacted:phone]"
    right = cut.show(10, 20)
    assert right.text == "[redacted:phone] or "
    assert right.replacements == (Replacement("phone", 0, 16, 10, 16),)


def test_a_slice_that_ends_where_a_sensitive_part_begins_does_not_mention_it() -> None:
    assert excerpt(TEXT).show(0, 5) == RedactedText("Ring ")
    assert excerpt(TEXT).show(16, 20) == RedactedText(" or ")


def test_an_excerpt_knows_its_end() -> None:
    assert excerpt("abc", 7).char_end == 10


GAPS = st.text(alphabet=" ,;。中文\n()|x", min_size=1, max_size=6).map(lambda gap: f" {gap} ")
PARTS = st.sampled_from(
    ["foo@bar.com", "13812345678", "+86 138-1234-5678", "AKIAIOSFODNN7EXAMPLE", "sk-" + "a1" * 12]
)
TEXTS = st.lists(st.one_of(GAPS, PARTS, st.text(max_size=20)), max_size=12).map("".join)


@given(TEXTS, st.integers(0, 10**6))
def test_the_shown_text_is_the_source_with_placeholders(text: str, char_start: int) -> None:
    shown = excerpt(text, char_start).show(char_start, char_start + len(text))
    rebuilt, at = "", 0
    for mark in shown.replacements:
        assert shown.text[mark.text_start : mark.text_end] == placeholder(mark.kind)
        rebuilt += shown.text[at : mark.text_start]
        assert len(rebuilt) == mark.char_start - char_start
        rebuilt += text[mark.char_start - char_start : mark.char_end - char_start]
        at = mark.text_end
    assert rebuilt + shown.text[at:] == text


@given(TEXTS, st.data())
def test_two_slices_show_what_the_whole_shows(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    whole = excerpt(text)
    left, right = whole.show(0, cut), whole.show(cut, len(text))
    hidden = [
        (mark.char_start, mark.char_end)
        for mark in whole.show(0, len(text)).replacements
        if not mark.char_start < cut < mark.char_end
    ]
    halves = [(mark.char_start, mark.char_end) for mark in left.replacements + right.replacements]
    assert set(hidden) <= set(halves)
    assert all(end <= cut or start >= cut for start, end in halves)


@given(st.lists(st.one_of(GAPS, PARTS), max_size=12).map(" ".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = excerpt(text).show(0, len(text)).text
    assert excerpt(once).show(0, len(once)) == RedactedText(once)
