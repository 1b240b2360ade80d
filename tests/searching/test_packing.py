"""What fits into a budget of tokens: a token is a character here, or a pair of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.searching.rules.packing import PackedPiece, Packing, Piece, WantedHit, pack


def length(piece: Piece) -> int:
    """One token per character."""
    return piece.end - piece.start


def hit(number: int, start: int, end: int, *nearby: tuple[int, int], text: int = 0) -> WantedHit:
    around = tuple(Piece(text, *place) for place in nearby)
    return WantedHit(number, Piece(text, start, end), around)


def spans(packing: Packing) -> list[tuple[int, int]]:
    return [(part.piece.start, part.piece.end) for part in packing.parts]


def reasons(packing: Packing) -> list[tuple[int, int, str]]:
    return [(dropped.id, dropped.tokens, dropped.reason) for dropped in packing.dropped]


def test_hits_stay_in_their_order() -> None:
    packing = pack([hit(1, 500, 600), hit(2, 0, 100)], length, 1_000)
    assert packing.parts == (
        PackedPiece(Piece(0, 500, 600), (1,), 100),
        PackedPiece(Piece(0, 0, 100), (2,), 100),
    )
    assert packing.used == 200


def test_the_first_hit_that_does_not_fit_ends_it_though_a_later_one_would_fit() -> None:
    packing = pack([hit(1, 0, 100), hit(2, 200, 350), hit(3, 400, 410)], length, 249)
    assert spans(packing) == [(0, 100)]
    assert reasons(packing) == [(2, 150, "over_budget"), (3, 10, "after_over_budget")]


def test_overlapping_hits_become_one_part_at_the_place_of_the_best() -> None:
    hits = [hit(1, 90, 190), hit(2, 500, 600), hit(3, 0, 100)]
    packing = pack(hits, length, 1_000)
    assert spans(packing) == [(0, 190), (500, 600)]
    assert [part.ids for part in packing.parts] == [(1, 3), (2,)]
    assert packing.used == 290


def test_a_hit_between_two_joins_them_and_names_its_hits_best_first() -> None:
    packing = pack([hit(1, 0, 100), hit(2, 180, 280), hit(3, 90, 190)], length, 280)
    assert (spans(packing), packing.parts[0].ids) == ([(0, 280)], (1, 2, 3))


def test_only_what_an_overlapping_hit_adds_is_paid_for() -> None:
    packing = pack([hit(1, 0, 100), hit(2, 90, 190), hit(3, 180, 280)], length, 269)
    assert spans(packing) == [(0, 190)]
    assert reasons(packing) == [(3, 90, "over_budget")]


def test_the_same_places_of_different_texts_are_different() -> None:
    assert len(pack([hit(1, 0, 100), hit(2, 0, 100, text=1)], length, 1_000).parts) == 2


def test_what_stands_around_comes_from_what_is_left_the_nearest_first() -> None:
    hits = [
        hit(1, 100, 200, (90, 110), (190, 300), (0, 95)),
        hit(2, 900, 1_000, (1_000, 1_050)),
    ]
    assert spans(pack(hits, length, 210)) == [(90, 200), (900, 1_000)]
    assert spans(pack(hits, length, 260)) == [(90, 200), (900, 1_050)]
    assert spans(pack(hits, length, 360)) == [(90, 300), (900, 1_050)]
    assert spans(pack(hits, length, 450)) == [(0, 300), (900, 1_050)]


def test_the_first_piece_around_a_hit_that_does_not_fit_ends_it() -> None:
    hits = [hit(1, 100, 200, (50, 100)), hit(2, 900, 1_000, (1_000, 1_010))]
    assert spans(pack(hits, length, 249)) == [(100, 200), (900, 1_000)]


def test_nothing_is_added_around_hits_while_one_of_them_has_no_room() -> None:
    packing = pack([hit(1, 100, 200, (200, 210)), hit(2, 500, 600)], length, 150)
    assert spans(packing) == [(100, 200)]


def test_text_that_counts_more_when_joined_still_stays_within_the_limit() -> None:
    def surprising(piece: Piece) -> int:
        return length(piece) + (50 if length(piece) > 100 else 0)

    packing = pack([hit(1, 0, 100), hit(2, 100, 200)], surprising, 220)
    assert (spans(packing), packing.used) == ([(0, 100)], 100)
    assert reasons(packing) == [(2, 100, "over_budget")]


@st.composite
def cut_texts(draw: st.DrawFn) -> list[WantedHit]:
    """Hits among the chunks of up to three texts, cut with overlaps as the chunker cuts."""
    hits = []
    for text in range(draw(st.integers(1, 3))):
        steps = draw(st.lists(st.integers(1, 40), min_size=1, max_size=12))
        ends = [sum(steps[: i + 1]) for i in range(len(steps))]
        chunks = [
            Piece(text, max(0, end - step - draw(st.integers(0, step))), end)
            for step, end in zip(steps, ends, strict=True)
        ]
        for i in draw(st.sets(st.integers(0, len(chunks) - 1))):
            near = [chunks[j] for d in (1, 2) for j in (i - d, i + d) if 0 <= j < len(chunks)]
            hits.append(WantedHit(100 * text + i, chunks[i], tuple(near)))
    return draw(st.permutations(hits))


def pairs(piece: Piece) -> int:
    """Two characters are a token: joining pieces makes them cheaper."""
    return (piece.end - piece.start + 1) // 2


@given(cut_texts(), st.integers(0, 300), st.sampled_from([length, pairs]))
def test_any_packing_keeps_its_promises(
    hits: list[WantedHit], limit: int, measure: Callable[[Piece], int]
) -> None:
    packing = pack(hits, measure, limit)
    assert packing.used == sum(measure(part.piece) for part in packing.parts) <= limit
    for part, other in combinations(packing.parts, 2):
        assert not part.piece.touches(other.piece)
    kept = [i for part in packing.parts for i in part.ids]
    dropped = [entry.id for entry in packing.dropped]
    assert sorted(kept) == sorted(entry.id for entry in hits[: len(kept)])
    assert dropped == [entry.id for entry in hits[len(kept) :]]
    whole = {entry.id: entry.piece for entry in hits}
    for part in packing.parts:
        for i in part.ids:
            assert part.piece.start <= whole[i].start < whole[i].end <= part.piece.end


@given(cut_texts(), st.integers(0, 300))
def test_more_room_never_holds_fewer_hits(hits: list[WantedHit], limit: int) -> None:
    def kept(room: int) -> int:
        return len(hits) - len(pack(hits, length, room).dropped)

    assert kept(limit) <= kept(limit + 10)


@pytest.mark.parametrize("count", [1, 10, 50])
def test_the_work_does_not_grow_with_the_square_of_the_hits(count: int) -> None:
    characters = 0

    def counting(piece: Piece) -> int:
        nonlocal characters
        characters += length(piece)
        return length(piece)

    hits = [hit(i, 100 * i, 100 * i + 110) for i in range(count)]
    pack(hits, counting, 100 * count + 10)
    assert characters <= 2 * (100 * count + 10)
