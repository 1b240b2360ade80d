"""Hits of a ranking in columns: what comes back is what was kept, to the last bit."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.ranking.search import FurtherHit
from context_search.searching.kept_ranking import Columns, Row

NUMBERS = st.floats(allow_nan=False)
FURTHER = st.builds(
    FurtherHit,
    st.from_regex(r"[0-9a-z]{1,3}(\.[0-9a-z]{1,5}){4}", fullmatch=True),
    NUMBERS,
    st.none() | NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
)
SHOWN = st.builds(
    lambda hit, copies, more: replace(
        Row(*hit), copies=copies, copies_total=len(copies) + more if copies else 0
    ),
    FURTHER,
    st.lists(st.sampled_from(["1.a.b.c.0", "1.a.b.c.1"]), max_size=3),
    st.integers(0, 5),
)


@given(st.lists(SHOWN, max_size=5), st.lists(FURTHER, max_size=5), st.integers(1, 4))
def test_the_pages_of_a_kept_ranking_are_its_hits(
    shown: list[Row], further: list[FurtherHit], size: int
) -> None:
    kept = Columns.of(shown, further)
    columns = Columns(**json.loads(json.dumps(asdict(kept))))
    pages = [columns.page(first, size) for first in range(0, kept.count, size)]
    rows = [*shown, *(Row(*hit) for hit in further)]
    assert kept.count == len(rows)
    assert [repr(row) for page in pages for row in page] == [
        repr(row) if row.copies else repr(Row(*row.further)) for row in rows
    ]


@pytest.mark.parametrize("first", [1, 50, 999_999])
def test_behind_the_last_hit_there_is_none(first: int) -> None:
    columns = Columns.of([], [FurtherHit("1.a.b.c.0", 0.5, None, 0.5, 0.0, 1.0)])
    assert columns.page(first, 50) == []
    assert Columns.of([], []).page(first, 50) == []
