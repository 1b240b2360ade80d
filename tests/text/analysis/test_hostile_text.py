"""Text made to crash an analyser or to take it quadratic time (which would never end here)."""

from __future__ import annotations

import pytest

from context_search.text.analysis import match_spans, tokens

_LENGTH = 300_000  # of combining marks: quadratic time is minutes
_SHORTER = 50_000


@pytest.mark.parametrize(
    "unit",
    ["a", "中", "a_", "a.", "a1", "aB", "AAs", "a中", "ß", "ﷺ", "_", "é", "हि", "\u0301", "a'b--"],
)
def test_long_repetition_is_analysed(unit: str) -> None:
    text = unit * (_SHORTER // len(unit))
    assert all(len(token) <= 128 for token in tokens(text))
    assert all(end <= len(text) for _, end in match_spans(text, "a 中 b"))


@pytest.mark.parametrize("unit", ["\u0315\u0300", "ﾞ\u0323", "\u0345\u0316\u3099"])
def test_a_long_run_of_combining_marks_does_not_hide_the_words_around_it(unit: str) -> None:
    text = "before e" + unit * (_LENGTH // len(unit)) + " shoes"
    assert "shoe" in tokens(text)
    assert match_spans(text, "shoes") == [(len(text) - 5, len(text))]


@pytest.mark.parametrize("start", [0x1, 0x10000, 0xE0000])
def test_every_character_is_analysed_alone_and_inside_a_word(start: int) -> None:
    characters = [chr(c) for c in range(start, start + 0xFFFF) if not 0xD800 <= c <= 0xDFFF]
    text = " ".join(f"{c} x{c}y" for c in characters)
    assert "" not in tokens(text)
