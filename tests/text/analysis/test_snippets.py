"""The part of a text that is shown, and what in it matched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from context_search.text.analysis.matches import SNIPPET_CHARS, snippet
from tests.builders import chinese, english, planted

SENTENCE = "The lighthouse keeper counted nine comets."


def marked(text: str, query: str) -> list[str]:
    shown = snippet(text, query)
    return [shown.text[start:end] for start, end in shown.highlights]


def test_a_short_text_is_shown_whole() -> None:
    assert snippet(SENTENCE, "nothing of it").text == SENTENCE
    assert marked(SENTENCE, "comet lighthouses") == ["lighthouse", "comets"]


def test_of_a_long_text_the_part_with_the_matches_is_shown() -> None:
    text = planted(english(2_000), SENTENCE, 1_200)
    assert SENTENCE in snippet(text, "lighthouse comets").text
    assert marked(text, "lighthouse comets") == ["lighthouse", "comets"]


def test_the_densest_part_wins() -> None:
    text = f"comets {english(900)} {SENTENCE} {english(900, 1)}"
    assert SENTENCE in snippet(text, "lighthouse keeper comets").text


def test_of_a_match_that_the_end_cuts_only_the_shown_part_counts() -> None:
    text = "lorem " * 50 + "comet " * 6 + "lorem " * 22 + "z" * 99 + " lorem" * 60
    assert "z" * 99 in snippet(text, "comet " + "z" * 99).text


def test_chinese_is_marked_where_it_is() -> None:
    text = chinese(500) + "林远走进废弃仓库" + chinese(500, 1)
    assert "林远" in marked(text, "林远")


def test_without_a_match_the_beginning_is_shown() -> None:
    text = english(1_000)
    shown = snippet(text, "xylophone")
    assert (shown.text, list(shown.highlights)) == (text[:SNIPPET_CHARS], [])


@given(st.text(max_size=600), st.text(max_size=20))
def test_it_is_always_a_slice_and_every_mark_lies_in_it(text: str, query: str) -> None:
    shown = snippet(text, query)
    assert shown.text in text
    assert len(shown.text) <= SNIPPET_CHARS
    assert all(0 <= start < end <= len(shown.text) for start, end in shown.highlights)
