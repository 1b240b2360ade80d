"""Index, query and highlighting agree, whatever the text (property tests)."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from context_search.text.analysis import has_searchable_character, match_spans, query_tokens, tokens
from context_search.text.analysis.normalization import normalize, normalize_with_offsets

from .strategies import texts


@st.composite
def text_and_query(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and as its query a part of it or something else."""
    text = draw(texts)
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    return text, draw(st.one_of(st.just(text[start:end]), texts))


@given(texts, texts, texts)
def test_every_token_of_a_word_is_found_in_a_text_with_that_word(
    word: str, before: str, after: str
) -> None:
    assert set(query_tokens(word)) <= set(tokens(f"{before} {word} {after}"))


@given(texts)
def test_tokens_are_deterministic_and_within_the_limits(text: str) -> None:
    found = tokens(text)
    assert found == tokens(text)
    assert all(0 < len(token) <= 128 and len(token.encode()) <= 254 for token in found)
    asked = query_tokens(text)
    assert len(asked) == len(set(asked))
    assert set(asked) <= set(found)
    assert bool(asked) == bool(found)


@given(texts)
def test_composed_and_decomposed_text_have_the_same_tokens(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert all(tokens(form) == tokens(text) for form in forms)


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=40))
def test_full_width_text_has_the_tokens_of_half_width(text: str) -> None:
    assert tokens("".join(chr(ord(c) + 0xFEE0) for c in text)) == tokens(text)


@given(texts)
def test_only_searchable_text_has_tokens(text: str) -> None:
    assert has_searchable_character(text) or not tokens(text)


@given(texts)
def test_normalizing_with_offsets_gives_the_same_text_and_covers_it(text: str) -> None:
    normalized = normalize_with_offsets(text)
    assert normalized.text == normalize(text)
    spans = [normalized.original_span(i, i + 1) for i in range(len(normalized.text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@given(text_and_query())
def test_match_spans_are_sorted_disjoint_and_share_a_token_with_the_query(
    text_query: tuple[str, str],
) -> None:
    text, query = text_query
    spans = match_spans(text, query)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(left[1] < right[0] for left, right in pairwise(spans))
    wanted = set(query_tokens(query))
    assert all(wanted & set(tokens(text[start:end])) for start, end in spans)


@given(texts)
def test_a_text_that_is_its_own_query_is_marked_unless_it_has_no_tokens(text: str) -> None:
    assert bool(match_spans(text, text)) == bool(tokens(text))
