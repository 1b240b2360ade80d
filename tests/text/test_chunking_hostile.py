"""Texts made to hang, to overrun or to leave slivers; each once did so in some chunker."""

from __future__ import annotations

from itertools import pairwise

import pytest

from context_search.text.chunking import Span, chunk_spans

FAMILY = "👩\u200d👩\u200d👧\u200d👦"
KNOWN_TRAPS = {
    "a short paragraph, then one word": "x" * 50 + "\n\n" + "y" * 20_000,
    "a label, then one word": "data: " + "Q" * 20_000,
    "a heading, then one line": "标题\n" + "字" * 14_997,
    "lines a little shorter than the size": ("y" * 899 + "\n") * 17,
    "lines longer than the size": ("y" * 1_199 + "\n") * 13,
    "three lines nearly fill a chunk": ("y" * 299 + "\n") * 50,
    "lines that fill two thirds": ("y" * 339 + "\n") * 600,
    "blank lines, then a word": "\n" * 16_000 + "hello",
    "two letters, then one word": "ab\n\n" + "x" * 5_000,
    "a word, then a long one": "hello " + "x" * 5_000,
    "an indented second paragraph": "Alpha beta.\n\n   " + "gamma " * 300,
    "sentences of one letter": "a. " * 5_000,
    "nothing but ends of sentences": "。" * 20_000,
    "nothing but closing quotes": "。" + "」" * 20_000,
    "full stops that end no sentence": "." * 20_000,
    "marks on every space": "word \u0308" * 3_000,
    "lone surrogates": "\ud800\udc00 \udfff。" * 3_000,
}
MILLION = 1_000_000
# name → (unit, code points of a grapheme cluster that must stay whole)
MILLIONS = {
    "Chinese": ("字", 1),
    "base64": ("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo", 1),
    "line feeds": ("\n" * 99 + "x", 1),
    "words": ("ab ", 1),
    "flags": ("🇩🇪", 2),
    "zalgo longer than 64": ("a" + "\u0300" * 79, 1),
    "zalgo of 50": ("a" + "\u0300" * 49, 50),
    "CRLF lines": ("some text\r\n", 1),
    "CRLF alone and an x": ("\r\n" * 50 + "xx", 2),
    "families": (FAMILY, len(FAMILY)),
    "Hangul jamo": ("\u1112\u1161\u11ab", 3),
    "sentences": ("Alpha beta. ", 1),
}


def assert_sound(text: str, spans: list[Span], in_the_way: int = 0) -> None:
    assert (spans[0].start, spans[-1].end) == (0, len(text))
    assert all(500 - in_the_way <= span.end - span.start <= 1_000 for span in spans)
    for before, after in pairwise(spans):
        assert before.start < after.start <= before.end < after.end
        assert before.end - after.start <= 100


@pytest.mark.parametrize("text", KNOWN_TRAPS.values(), ids=KNOWN_TRAPS.keys())
def test_a_known_trap_is_cut_soundly(text: str) -> None:
    assert_sound(text, chunk_spans(text), in_the_way=int("\u0308" in text))


@pytest.mark.parametrize(("unit", "cluster"), MILLIONS.values(), ids=MILLIONS.keys())
def test_a_million_hostile_characters_are_cut_soundly(unit: str, cluster: int) -> None:
    text = unit * (MILLION // len(unit))
    spans = chunk_spans(text)
    assert_sound(text, spans, in_the_way=cluster - 1)
    assert all(span.start % cluster == 0 == span.end % cluster for span in spans)


def test_a_line_end_of_two_characters_is_never_split() -> None:
    text = "some text\r\n" * 20_000
    places = {place for span in chunk_spans(text) for place in (span.start, span.end)}
    assert not any(text.startswith("\r\n", place - 1) for place in places - {0})


def test_an_accent_on_a_space_stays_with_it() -> None:
    text = "".join(f"word {i} \u0308" for i in range(9_000))
    assert not any(text[span.start] == "\u0308" for span in chunk_spans(text))


@pytest.mark.parametrize("overlap", [0, 1, 100, 500, 900, 999])
def test_the_overlap_is_whole_where_no_boundary_is_near(overlap: int) -> None:
    spans = chunk_spans("Q" * 3_500, overlap=overlap)
    assert {before.end - after.start for before, after in pairwise(spans)} == {overlap}


def test_a_size_beyond_the_text_is_no_problem() -> None:
    assert chunk_spans("ab " * 1_000, size=10**12, overlap=10**11) == [Span(0, 3_000)]
