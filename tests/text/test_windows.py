"""The windows of a chunk are the same as those that are cut without a look at its length."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_search.text.chunking import chunk_spans, estimated_tokens, window_texts

TEXTS = (
    st.text("a bc.!?\n。！？字标 ")
    | st.text("字标闸门𠀀𪚥👩🏽e\u0301\u2e7f\u2e80")
    | st.text()
    | st.text(st.characters(categories=["Cs", "Lo", "Zs"]))
)


def tokens_one_by_one(text: str) -> int:
    wide = sum(character >= "\u2e80" for character in text)
    return math.ceil(wide + (len(text) - wide) / 4)


def windows_always_cut(text: str, tokens_per_window: int) -> list[str]:
    count = max(1, math.ceil(tokens_one_by_one(text) / tokens_per_window))
    size = max(20, math.ceil(len(text) / count))
    spans = chunk_spans(text, size=size, overlap=0, packed=False)
    return [text[span.start : span.end] for span in spans] or [text]


@given(TEXTS)
def test_tokens_are_estimated_character_by_character(text: str) -> None:
    assert estimated_tokens(text) == tokens_one_by_one(text)


@given(st.builds(lambda text, times: text * times, TEXTS, st.integers(1, 30)), st.integers(1, 60))
@example("", 1)
@example(" \n" * 40, 5)
@example("字" * 41, 40)
def test_windows_of_any_text_are_those_of_a_cut(text: str, tokens_per_window: int) -> None:
    assert window_texts(text, tokens_per_window) == windows_always_cut(text, tokens_per_window)


@pytest.mark.parametrize("text", ["", "a" * 10_000])
def test_without_a_limit_a_chunk_is_one_window(text: str) -> None:
    assert window_texts(text, 0) == [text]
