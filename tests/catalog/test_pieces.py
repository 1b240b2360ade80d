"""Texts become pieces and come back."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.catalog.rules.pieces import MAX_BYTES, MIN_BYTES, cut, joined, packed
from context_search.core.errors import VersionDamagedError
from tests.system import prose


def stored(text: str) -> list[bytes]:
    """Returns the pieces of a text, in order, as they are stored."""
    found = cut(text)
    return [packed(found.pieces[name]) for name in found.content.pieces]


@pytest.mark.parametrize(
    "text", ["", "x", "null", prose(300_000), "荒废工厂，" * 60_000, "a" * 500_000]
)
def test_pieces_make_the_text_again(text: str) -> None:
    found = cut(text)
    assert joined(stored(text), found.content.sha256) == text
    assert found.content.size == len(text.encode())
    assert all(hashlib.sha256(piece).digest() == name for name, piece in found.pieces.items())


def test_pieces_are_neither_tiny_nor_huge() -> None:
    found = cut(prose(2_000_000))
    sizes = [len(found.pieces[name]) for name in found.content.pieces]
    assert min(sizes[:-1]) >= MIN_BYTES
    assert max(sizes) <= MAX_BYTES


def test_an_edit_changes_few_pieces() -> None:
    text = prose(3_000_000)
    places = range(200_000, 3_000_000, 400_000)
    edited = text
    for place in reversed(places):
        edited = edited[:place] + "荒废工厂" + edited[place + 1 :]
    new = cut(edited).pieces.keys() - cut(text).pieces.keys()
    assert 0 < len(new) <= 2 * len(places)


@given(st.text(max_size=300), st.text(max_size=300))
def test_pieces_of_another_text_are_refused(text: str, other: str) -> None:
    sha256 = cut(text).content.sha256
    if text == other:
        assert joined(stored(other), sha256) == text
        return
    with pytest.raises(VersionDamagedError):
        joined(stored(other), sha256)


def test_a_missing_swapped_or_broken_piece_is_found() -> None:
    text = prose(400_000)
    sha256, pieces = cut(text).content.sha256, stored(text)
    for damaged in (pieces[1:], [*pieces[1:], pieces[0]], [pieces[0][:-9], *pieces[1:]], [b"x"]):
        with pytest.raises(VersionDamagedError):
            joined(damaged, sha256)
