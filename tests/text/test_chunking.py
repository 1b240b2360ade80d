"""What holds for the chunks of any text, and where they are cut."""

from __future__ import annotations

from hashlib import sha256
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from context_search.core.config import CHUNKER_VERSION
from context_search.core.errors import InvalidInputError
from context_search.text.chunking import Span, chunk_spans

CLUSTER = regex.compile(r"\X")
ANYTHING = (
    st.text("a bc.!?\n\r\t。！？；…」』”’），字标 ")
    | st.text("ab\u0300\u200d👩🏽❤\ufe0f🇩🇪\u0600\r\nᄀ가ᅡᆨक\u094dष ")
    | st.text()
    | st.text(st.characters(categories=["Cs", "Lo", "Zs"]))
)
LONG_TEXTS = st.lists(ANYTHING, max_size=8).map("".join) | st.builds(
    lambda block, times: block * times, ANYTHING, st.integers(0, 40)
)


def cut(text: str, size: int, overlap: int) -> list[str]:
    return [text[span.start : span.end] for span in chunk_spans(text, size=size, overlap=overlap)]


def assert_sound(text: str, spans: list[Span], size: int, overlap: int) -> None:
    """Everything that is promised but the grapheme clusters and the shortest length."""
    assert spans[0].start == 0
    assert spans[-1].end == len(text)
    assert all(0 < span.end - span.start <= size for span in spans)
    for before, after in pairwise(spans):
        assert before.start < after.start <= before.end < after.end
        assert before.end - after.start <= overlap


def assert_clusters_whole(text: str, spans: list[Span], size: int) -> list[int]:
    """Returns the lengths of the clusters that are to be kept whole."""
    clusters = [c.span() for c in CLUSTER.finditer(text)]
    kept = [(s, e) for s, e in clusters if e - s <= min(size, 64)]
    insides = {p for s, e in kept for p in range(s + 1, e)}
    assert insides.isdisjoint({p for span in spans for p in (span.start, span.end)})
    return [e - s for s, e in kept]


@st.composite
def sizes(draw: st.DrawFn, largest: int) -> tuple[int, int]:
    size = draw(st.integers(1, largest))
    return size, draw(st.integers(0, size - 1))


@given(LONG_TEXTS, sizes(50) | sizes(300))
def test_chunks_of_any_text_are_sound(text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    spans = chunk_spans(text, size=size, overlap=overlap)
    if not text.strip():
        assert spans == []
        return
    assert_sound(text, spans, size, overlap)
    in_the_way = max(assert_clusters_whole(text, spans, size), default=1) - 1
    shortest = min(span.end - span.start for span in spans)
    assert shortest >= min(len(text), size // 2 - 2 * in_the_way)


@pytest.mark.parametrize("size", range(1, 51))
def test_every_overlap_of_a_small_size_is_sound(size: int) -> None:
    text = "".join(
        f"Alpha {i} \u0308be. 春天“来了。”\r\n\r\n👩\u200d👧\u200d👦🇩🇪🇨🇳" for i in range(9)
    )
    for overlap in range(size):
        spans = chunk_spans(text, size=size, overlap=overlap)
        assert_sound(text, spans, size, overlap)
        assert_clusters_whole(text, spans, size)


@given(st.text("ab .\n。」", min_size=1).map(lambda block: block * 50), sizes(40))
def test_no_chunk_is_short_where_every_cluster_is_one_code_point(
    text: str, sizes: tuple[int, int]
) -> None:
    size, overlap = sizes
    spans = chunk_spans(text, size=size, overlap=overlap)
    assert all(s.end - s.start >= min(len(text), size // 2) for s in spans)


def test_text_without_boundaries_is_cut_at_the_size_with_the_whole_overlap() -> None:
    spans = chunk_spans("A" * 5_000)
    assert spans == [Span(at, at + 1_000 - 500 * (at == 4_500)) for at in range(0, 4_501, 900)]


@pytest.mark.parametrize("text", ["", " ", " " * 20_000, "\n\t \u3000\u2028" * 900])
def test_blank_text_has_no_chunks(text: str) -> None:
    assert chunk_spans(text) == []


def test_a_text_that_fits_is_one_chunk() -> None:
    assert cut(" One. Two.\n\nThree. ", 20, 5) == [" One. Two.\n\nThree. "]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, 0), (10, 10), (10, 11), (10, -1)])
def test_sizes_that_cannot_be_met_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InvalidInputError):
        chunk_spans("text", size=size, overlap=overlap)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Aaa bbb. Ccc.\n\nDdd. Eee fff", "Aaa bbb. Ccc.\n\n"),
        ("Aaa bbb. Ccc.\r\n\r\nDdd. Eee fff", "Aaa bbb. Ccc.\r\n\r\n"),
        ("Aaa bbbb.\r\n\r\nCcc.\n\nD. Eee", "Aaa bbbb.\r\n\r\nCcc.\n\n"),
        ("Aaa bbbb.\n\nCcc.\r\n\r\nD. Eee", "Aaa bbbb.\n\nCcc.\r\n\r\n"),
        ("Aaa bbb ccc. Ddd eee fff ggg", "Aaa bbb ccc. "),
        ("Aaa bbb ccc\nDdd eee fff ggg", "Aaa bbb ccc\n"),
        ("Aaa “bbb ccc.” Ddd eee fff g", "Aaa “bbb ccc.” "),
        ('Aaa "bbb (ccc!)" Ddd eee fff', 'Aaa "bbb (ccc!)" '),
        ("Version 3.14159 of the thing", "Version 3.14159 of "),
        ("Aaa bbb ccc ddd.eee?fff ggg h", "Aaa bbb ccc "),
        ("春天来得比往年更早。桃花开满了整个山坡上下", "春天来得比往年更早。"),
        ("他停下脚步问：“你是谁？”没有人回答他的话", "他停下脚步问：“你是谁？”"),
        ("没有人知道发生了什么……他们走了很久很久", "没有人知道发生了什么……"),
        ("（他们都走了很久很久。）天亮了，鸟叫起来", "（他们都走了很久很久。）"),
        ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaa"),
        (
            "字字字字字字字字字字字字字字字字字字字字字字",
            "字字字字字字字字字字字字字字字字字字字字",
        ),
        ("aaaaaaaaaaaaaaaaaa👩\u200d👩\u200d👧aaaaaa", "aaaaaaaaaaaaaaaaaa"),
        ("aaaaaaaaaaaaaaaaaaa\r\naaaaaaaaa", "aaaaaaaaaaaaaaaaaaa"),
        ("🇩🇪🇨🇳🇩🇪🇨🇳🇩🇪🇨🇳🇩🇪🇨🇳🇩🇪🇨🇳🇩🇪🇨🇳", "🇩🇪🇨🇳🇩🇪🇨🇳🇩🇪🇨🇳🇩🇪🇨🇳🇩🇪🇨🇳"),
        ("aaaaaaaaa bbbbbbb \u0308cccccccccc", "aaaaaaaaa bbbbbbb"),
    ],
)
def test_a_chunk_ends_at_the_best_boundary(text: str, first: str) -> None:
    text += "x" * 30
    span = chunk_spans(text, size=20, overlap=0, packed=False)[0]
    assert text[span.start : span.end] == first


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("Aaa bbb ccc. Dddd e. Fff ggg hhh iii jjj.", "Dddd e. Fff "),
        ("aaaaaaaa bbbbb cccc ddddd eeeee fffff ggggg", "cccc ddddd eeeee "),
        (
            "春天来得比往年更早桃花。一夜之间。开满了。没有人知道那天夜里发生了什么",
            "一夜之间。开满了。没有人",
        ),
        ("字字字字字字字字字字字字字字字字字字字字字字字", "字" * 11 + "x" * 11),
    ],
)
def test_a_chunk_starts_at_a_boundary_within_the_overlap(text: str, second: str) -> None:
    assert cut(text + "x" * 30, 22, 10)[1].startswith(second)


def test_the_overlap_makes_room_for_a_cluster() -> None:
    family = "👩\u200d👩\u200d👧\u200d👦"
    assert cut("a" * 8 + family + "a" * 8, 8, 7)[:2] == ["a" * 8, "a" + family]


def test_the_last_chunk_is_not_a_sliver() -> None:
    assert [len(chunk) for chunk in cut("word " * 201, 1_000, 100)] == [605, 500]


def test_lines_of_a_small_text_stay_whole() -> None:
    assert cut("line1\nline2\nline3\nline4\n", 12, 0) == ["line1\nline2\n", "line3\nline4\n"]


def test_a_known_text_is_cut_the_same_everywhere_and_in_every_version() -> None:
    words = [
        *("alpha", "beta. ", "gamma, ", "春天来了。", "桃花？", "\n", "👩\u200d👧", "e\u0301\n\n"),
    ]
    text = "".join(words[pow(3, i, 1_009) % len(words)] + str(i % 97) for i in range(20_000))
    digest = sha256(repr([(s.start, s.end) for s in chunk_spans(text)]).encode()).hexdigest()
    assert (CHUNKER_VERSION, digest[:16]) == (2, "fb96e0319810bd69")


def test_a_paragraph_is_cut_apart_rather_than_making_a_chunk_more() -> None:
    text = ("Some words. " * 50 + "\n\n") * 3
    packed, unpacked = (
        [s.end - s.start for s in chunk_spans(text, size=1_000, overlap=0, packed=packed)]
        for packed in (True, False)
    )
    assert packed == [998, 808]
    assert unpacked == [602, 602, 602]
