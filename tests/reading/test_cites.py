"""Cites as text: short, exact, and refused when they are none."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.core.cites import (
    DIGEST_BYTES,
    MAX_CITE_CHARS,
    MAX_CITED_CHARS,
    POINTER_BYTES,
    Cite,
)
from context_search.core.errors import InvalidInputError

CITE = Cite.of(412, "/letters/0/text", 7, 1_200, "the cited text", 1_214)
NUMBERS = st.integers(0, 2**63 - 1)


def test_a_cite_of_a_usual_place_is_short() -> None:
    assert len(str(CITE)) <= 36
    assert Cite.parse(str(CITE)) == CITE


@given(
    NUMBERS,
    NUMBERS,
    st.integers(0, 10**9),
    st.integers(0, MAX_CITED_CHARS),
    st.none() | st.just("x"),
)
def test_every_cite_is_read_as_it_was_written(
    table_id: int, revision: int, start: int, length: int, text: str | None
) -> None:
    cite = Cite.of(table_id, "/a", revision, start, text, start + length)
    assert len(str(cite)) <= MAX_CITE_CHARS
    assert Cite.parse(str(cite)) == cite
    assert (len(cite.pointer), len(cite.digest)) == (
        POINTER_BYTES,
        DIGEST_BYTES * (text is not None),
    )


@given(st.binary(min_size=12, max_size=26).map(lambda rest: b"\x01" + rest))
def test_any_bytes_are_a_cite_of_one_spelling_or_refused(raw: bytes) -> None:
    text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
    with suppress(InvalidInputError):
        assert str(Cite.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        str(CITE)[:-1],
        str(CITE) + "A",
        str(CITE) + "=",
        str(CITE) + "\n",
        "!" + str(CITE)[1:],
        "Ag" + str(CITE)[2:],  # another version
        "A" * 65,
        "é" * 8,
        "AQAAAAAAAAAA____________________",  # a number without an end
    ],
)
def test_what_is_no_cite_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        Cite.parse(text)


def test_a_cite_is_of_its_text_only() -> None:
    assert CITE.is_of("the cited text")
    assert not CITE.is_of("the cited Text")
    without = Cite.of(1, "/a", 1, 0, None, 14)
    assert not without.is_of("the cited text")


def test_a_long_text_is_cited_by_its_beginning() -> None:
    text = "a" * (MAX_CITED_CHARS + 1)
    cite = Cite.parse(str(Cite.of(1, "/a", 1, 7, text, 7 + len(text))))
    assert (cite.start, cite.end) == (7, 7 + MAX_CITED_CHARS)
    assert cite.is_of(text[:MAX_CITED_CHARS])
