"""Texts that are normalized a shorter way are spelled as all others."""

from __future__ import annotations

from hypothesis import given

from context_search.text.analysis.normalization import (
    is_plain_east_asian,
    normalize,
    traditional_forms,
)

from .strategies import texts

OF_ANY_KIND = "\U0001f600"
"""Stays what it is, joins nothing, and no shorter way is for a text that has it."""


def test_the_spelling_of_a_character_does_not_depend_on_the_way() -> None:
    every = [chr(code_point) for code_point in range(0x30000) if not 0xD800 <= code_point < 0xE000]
    other = [c for c in every if normalize(c) + OF_ANY_KIND != normalize(c + OF_ANY_KIND)]
    assert other == []


@given(texts)
def test_the_spelling_of_a_text_does_not_depend_on_the_way(text: str) -> None:
    assert normalize(text) + OF_ANY_KIND == normalize(text + OF_ANY_KIND)


def test_plain_east_asian_text_has_ideographs_to_simplify_and_punctuation() -> None:
    every = [chr(code_point) for code_point in range(0x80, 0x30000)]
    plain = [c for c in every if is_plain_east_asian(c)]
    changed = [c for c in plain if normalize(c) != c and traditional_forms(normalize(c)) == []]
    assert len(plain) > 35_000
    assert not any(c.isalnum() for c in changed)
    assert not any(normalize(c) in "_-./@&'" for c in plain)
    assert "發" in dict(traditional_forms("发"))
