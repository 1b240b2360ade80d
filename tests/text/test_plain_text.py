"""What is hidden in a name."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.text.plain_text import (
    LINE_PATTERN,
    TEXT_PATTERN,
    hidden_character,
    with_hidden_characters_named,
    without_hidden_characters,
)


@pytest.mark.parametrize(
    "text",
    [
        "find_in_docs",
        "知识库（一）",
        "naïve café",
        "می\u200cخواهم",  # Persian needs the non-joiner
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # one family
        "\u2764\ufe0f \u2601\ufe0e \U0001f3f3\ufe0f\u200d\U0001f308",  # a heart, a cloud, a flag
        "1\ufe0f\u20e3 #\ufe0f\u20e3",  # keys
    ],
)
def test_what_people_write_is_not_hidden(text: str) -> None:
    assert hidden_character(text) is None
    assert without_hidden_characters(text) == text


@pytest.mark.parametrize(
    "number",
    [
        *(0, 7, 0x7F, 0x9F, 0xAD, 0x200B, 0x202E, 0x2066, 0xE0041, 0xFEFF, 0x3164, 0xFFA0),
        *(0xFE00, 0xFE0F, 0xE0100, 0xE01EF, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5),
        *(0x180B, 0x180E, 0x180F, 0x2800, 0x1D173, 0x1D17A, 0x1BCA0, 0x13430),
    ],
)
def test_a_hidden_character_is_named(number: int) -> None:
    assert hidden_character(f"a{chr(number)}b") == f"U+{number:04X}"
    assert without_hidden_characters(f"a{chr(number)}b") == "ab"


@pytest.mark.parametrize(
    "text", ["\U0001f600\ufe0f\ufe0f", "\U0001f600\ufe01", "1\ufe0f", "\ufe0f", "a\ufe0f\u20e3"]
)
def test_a_selector_is_hidden_unless_it_is_the_one_of_an_emoji(text: str) -> None:
    assert (hidden_character(text) or "").startswith("U+FE0")


@given(st.text(st.sampled_from("\U0001f600\ufe0f\ufe01\u20e31a\n\u200b\u2764")))
def test_what_is_hidden_is_what_the_pattern_refuses(text: str) -> None:
    assert (hidden_character(text) is None) is bool(re.fullmatch(LINE_PATTERN, text))
    is_text = hidden_character(text, may_have_lines=True) is None
    assert is_text is bool(re.fullmatch(TEXT_PATTERN, text))
    named = with_hidden_characters_named(text)
    assert hidden_character(named) is None
    assert (named == text) is (hidden_character(text) is None)


@pytest.mark.parametrize("space", ["\n", "\t", "\r\n"])
def test_lines_are_for_descriptions(space: str) -> None:
    assert hidden_character(f"a{space}b") is not None
    assert hidden_character(f"a{space}b", may_have_lines=True) is None
    assert without_hidden_characters(f"a{space}b") == f"a{space}b"


@given(st.text())
def test_what_is_left_out_is_what_is_found(text: str) -> None:
    rest = without_hidden_characters(text)
    assert hidden_character(rest, may_have_lines=True) is None
    assert (rest == text) is (hidden_character(text, may_have_lines=True) is None)


@given(st.characters(categories=["Cc"], exclude_characters="\n\r\t"))
def test_every_control_character_is_hidden(character: str) -> None:
    assert unicodedata.category(character) == "Cc"
    assert hidden_character(character, may_have_lines=True) is not None
