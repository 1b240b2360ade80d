"""What is hidden in a name."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.domain.text.plain_text import hidden_character, without_hidden_characters


@pytest.mark.parametrize(
    "text",
    [
        "find_in_docs",
        "知识库（一）",
        "naïve café",
        "می\u200cخواهم",  # Persian needs the non-joiner
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",  # one family
        "葛\U000e0100城",  # a variant of a Japanese name
    ],
)
def test_what_people_write_is_not_hidden(text: str) -> None:
    assert hidden_character(text) is None
    assert without_hidden_characters(text) == text


@pytest.mark.parametrize(
    "number", [0, 7, 0x7F, 0x9F, 0xAD, 0x200B, 0x202E, 0x2066, 0xE0041, 0xFEFF, 0x3164, 0xFFA0]
)
def test_a_hidden_character_is_named(number: int) -> None:
    assert hidden_character(f"a{chr(number)}b") == f"U+{number:04X}"
    assert without_hidden_characters(f"a{chr(number)}b") == "ab"


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
