"""Cuts between grapheme clusters, compared with ``regex`` ``\\X`` over the whole text."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from context_search.text.graphemes import LONGEST_CLUSTER, GraphemeClusters

CLUSTER = regex.compile(r"\X")
FLAGS = regex.compile(r"\p{Regional_Indicator}+")

LETTERS = "a9 .é中。가각한กあ"
ENDS = "\r\n\t\u2028\u200b\x00"
JOINERS = "\u0300\u0308\u200d\ufe0f🏽\u0e33\u0903ᅡᆨ\u0c55"
STARTERS = "👩👧❤🏳🇩🇪🇨🇳ᄀᄁकषત\u0600\u0d4e\U000110bd"
LINKERS = "\u094d\u0acd\u200c"
text_of_clusters = st.text(LETTERS + ENDS + JOINERS + STARTERS + LINKERS, min_size=1, max_size=120)


def spans(text: str) -> list[tuple[int, int]]:
    return [cluster.span() for cluster in CLUSTER.finditer(text)]


def inside_flags(text: str) -> set[int]:
    return {p for run in FLAGS.finditer(text) for p in range(run.start() + 1, run.end(), 2)}


@given(text_of_clusters, st.integers(1, LONGEST_CLUSTER))
def test_every_position_gets_the_ends_of_its_cluster(text: str, longest: int) -> None:
    clusters = GraphemeClusters(text, longest=longest)
    for start, end in spans(text):
        assert clusters.is_boundary(start)
        for position in range(start + 1, end):
            floor, ceiling = clusters.around(position)
            if end - start <= longest:
                assert (floor, ceiling) == (start, end)
            else:
                assert start <= floor <= position <= ceiling <= end
                assert longest == 1 or {floor, ceiling}.isdisjoint(inside_flags(text))
    assert clusters.is_boundary(len(text))


@given(st.text("🇩🇪" + "\u0600\u0300x", max_size=300), st.integers(2, 9))
def test_flags_pair_up_from_the_start_of_their_run(text: str, longest: int) -> None:
    clusters = GraphemeClusters(text, longest=longest)
    places = {end for position in range(len(text)) for end in clusters.around(position)}
    assert places.isdisjoint(inside_flags(text))


def test_a_flag_is_found_far_into_a_run_of_flags() -> None:
    text = "🇩🇪" * 50_000 + "x" + "🇨🇳" * 50_000
    clusters = GraphemeClusters(text)
    assert clusters.around(77_777) == (77_776, 77_778)
    assert clusters.around(177_778) == (177_777, 177_779)
    assert clusters.is_boundary(77_778)


@pytest.mark.parametrize("marks", [62, 63, 64, 65, 500])
def test_a_cluster_may_be_cut_if_it_is_longer_than_the_limit(marks: int) -> None:
    text = "x" * 100 + "a" + "\u0300" * marks + "x" * 100
    clusters = GraphemeClusters(text)
    middle = 101 + marks // 2
    kept_whole = 1 + marks <= LONGEST_CLUSTER
    assert clusters.around(middle) == ((100, 101 + marks) if kept_whole else (middle, middle))


def test_a_line_end_of_two_characters_is_kept_whole() -> None:
    assert GraphemeClusters("a\r\nb").around(2) == (1, 3)


def test_neighbours_that_are_judged_without_a_window_are_judged_right() -> None:
    everything = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)]))
    special = regex.findall(r"[^\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}]|\p{ExtPict}", everything)
    plain = "a~ 9中鿿“（。\n"
    pairs = [a + b for c in special for p in plain for a, b in ((c, p), (p, c))]
    wrong = [p for p in pairs if GraphemeClusters(p).is_boundary(1) != (len(spans(p)) == 2)]
    assert wrong == []


@given(text_of_clusters)
def test_places_to_cut_rebuild_the_clusters(text: str) -> None:
    clusters = GraphemeClusters(text, longest=1_000)
    places = [p for p in range(len(text) + 1) if clusters.is_boundary(p)]
    assert list(pairwise(places)) == spans(text)
